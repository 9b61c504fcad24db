import assert from "node:assert/strict";
import { file, rootContext } from "../../../src/config/mod.ts";
import { parsed } from "./schema_cases.ts";

const paths: [string, string][] = [
  ["/a/b", "/a/b"],
  ["a/b", "/etc/postern/a/b"],
  ["./a", "/etc/postern/a"],
  ["../a", "/etc/a"],
  ["/../../a", "/a"],
  ["/a//b/./c/", "/a/b/c"],
  ["~", "/home/me"],
  ["~/a", "/home/me/a"],
  ["a~", "/etc/postern/a~"],
  ["${runtime}/postern.sock", "/run/user/1/postern/postern.sock"],
  ["/x/${NAME}.key", "/x/value.key"],
  ["/x/$NAME", "/x/$NAME"],
];
for (const [written, path] of paths) {
  Deno.test(`file() makes ${written} absolute`, () => {
    assert.deepEqual(parsed(file(), written), { value: path, said: [] });
  });
}

Deno.test("file() accepts Windows paths", () => {
  const context = rootContext({ base: "C:\\me\\postern", home: "C:\\me" });
  for (
    const [written, path] of [["a.txt", "C:\\me\\postern\\a.txt"], ["~/x", "C:\\me\\x"], [
      "D:/a\\..\\b",
      "D:\\b",
    ]]
  ) {
    assert.equal(file().parse(written, context), path);
  }
  assert.deepEqual(context.problems, []);
});

const wrongs: [unknown, RegExp][] = [
  ["", /must be a file path/],
  [1, /must be a file path: current value is 1/],
  ["a\0b", /must be a file path/],
  ["${MISSING}/x", /uses \$\{MISSING\}, which is not set/],
  ["${EMPTY}/x", /uses \$\{EMPTY\}, which is not set/],
  ["~root/x", /another user's home/],
];
for (const [written, says] of wrongs) {
  Deno.test(`file() rejects ${JSON.stringify(written)}`, () => {
    const { value, said } = parsed(file(), written);
    assert.equal(value, undefined);
    assert.match(said.join(), says);
  });
}
