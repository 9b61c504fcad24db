import assert from "node:assert/strict";
import { absoluteFrom, directoryOf, fileNameOf } from "../../../src/world/mod.ts";

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

const relative: readonly (readonly [path: string, absolute: string])[] = [
  ["a/b", "/here/a/b"],
  ["/a", "/a"],
  ["C:\\a", "C:\\a"],
  ["c:/a", "c:/a"],
  ["\\\\host\\a", "\\\\host\\a"],
  ["~/a", "/here/~/a"],
];
for (const [path, absolute] of relative) {
  Deno.test(`absoluteFrom() ${JSON.stringify(path)}`, () => {
    assert.equal(absoluteFrom("/here", path), absolute);
  });
}
