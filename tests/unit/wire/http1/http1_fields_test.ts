import assert from "node:assert/strict";
import { Fields } from "../../../../src/wire/mod.ts";

const fields = new Fields([["Accept", "a"], ["X-One", "1"], ["accept", "B, c ,,"], ["Connection", "Close"]]);

Deno.test("Fields.get() returns the first value, ignoring case", () => {
  assert.equal(fields.get("ACCEPT"), "a");
  assert.equal(fields.get("x"), undefined);
  assert.equal(fields.has("x-one"), true);
  assert.equal(fields.has("one"), false);
  assert.equal(fields.size, 4);
});

Deno.test("Fields.all() returns all lines, Fields.tokens() all elements", () => {
  assert.deepEqual(fields.all("accept"), ["a", "B, c ,,"]);
  assert.deepEqual(fields.tokens("Accept"), ["a", "b", "c"]);
  assert.deepEqual(fields.tokens("none"), []);
});

Deno.test("Fields.without() and Fields.with() return new objects and keep the order", () => {
  assert.deepEqual([...fields.without(["ACCEPT", "x-one"])], [["Connection", "Close"]]);
  assert.deepEqual([...fields.with("accept", "z")].map(([name]) => name), ["accept", "X-One", "Connection"]);
  assert.deepEqual([...new Fields([["A", "1"]]).with("B", "2")], [["A", "1"], ["B", "2"]]);
  assert.equal(fields.size, 4);
});
