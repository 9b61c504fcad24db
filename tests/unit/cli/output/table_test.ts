import assert from "node:assert/strict";
import { table } from "../../../../src/cli/output/table.ts";

Deno.test("table() aligns columns, numbers to the right, without trailing spaces", () => {
  const text = table([{ name: "a", size: 5, note: "" }, { name: "longer", size: 1234, note: "n" }], [
    { title: "NAME", show: ({ name }) => name },
    { title: "SIZE", show: ({ size }) => size, alignRight: true },
    { title: "NOTE", show: ({ note }) => note },
  ]);
  assert.equal(text, "NAME    SIZE  NOTE\na          5\nlonger  1234  n\n");
});

Deno.test("table() without rows prints its heading", () => {
  assert.equal(table([], [{ title: "A", show: () => "" }, { title: "B", show: () => "" }]), "A  B\n");
});

Deno.test("table() escapes control characters and line breaks in cells", () => {
  const text = table([{ host: "a\x1b]0;owned\x07\nb" }], [{ title: "HOST", show: ({ host }) => host }]);
  assert.equal(text, "HOST\na\\u{1b}]0;owned\\u{7}\\u{a}b\n");
});
