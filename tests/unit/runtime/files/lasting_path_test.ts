import assert from "node:assert/strict";
import { lastingPath } from "../../../../src/runtime/files/lasting_path.ts";

const cases = [
  {
    path: "/opt/homebrew/Cellar/postern/0.1.0/bin/postern",
    lasting: "/opt/homebrew/opt/postern/bin/postern",
  },
  {
    path: "/home/linuxbrew/.linuxbrew/Cellar/postern/0.1.0_1/bin/postern",
    lasting: "/home/linuxbrew/.linuxbrew/opt/postern/bin/postern",
  },
  { path: "/usr/local/Cellar/other/0.1.0/bin/postern" },
  { path: "/usr/local/Cellar/postern/0.1.0/postern" },
  { path: "/home/me/.local/bin/postern" },
  { path: "C:\\Tools\\postern.exe" },
];
for (const { path, lasting = path } of cases) {
  Deno.test(`lastingPath() of ${path}`, () => assert.equal(lastingPath(path), lasting));
}
