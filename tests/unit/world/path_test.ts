import assert from "node:assert/strict";
import { directoryOf, fileNameOf } from "../../../src/world/mod.ts";

const cases: readonly (readonly [path: string, directory: string, name: string])[] = [
  ["/etc/postern/config.yaml", "/etc/postern", "config.yaml"],
  ["/config.yaml", "/", "config.yaml"],
  ["config.yaml", ".", "config.yaml"],
  ["C:\\Users\\me\\config.yaml", "C:\\Users\\me", "config.yaml"],
  ["C:\\Users/me\\a b", "C:\\Users/me", "a b"],
  ["/a\n/b\nc", "/a\n", "b\nc"],
];
for (const [path, directory, name] of cases) {
  Deno.test(`directoryOf() and fileNameOf() ${JSON.stringify(path)}`, () => {
    assert.deepEqual([directoryOf(path), fileNameOf(path)], [directory, name]);
  });
}
