import assert from "node:assert/strict";
import { table } from "../../../../src/cli/output/table.ts";

Deno.test("table() aligns columns, numbers at the right, and leaves no blanks at the end", () => {
  const text = table([{ name: "a", size: 5, note: "" }, { name: "longer", size: 1234, note: "n" }], [
    { title: "NAME", show: ({ name }) => name },
    { title: "SIZE", show: ({ size }) => size, alignRight: true },
    { title: "NOTE", show: ({ note }) => note },
  ]);
  assert.equal(text, "NAME    SIZE  NOTE\na          5\nlonger  1234  n\n");
});

Deno.test("table() of nothing is its heading", () => {
  assert.equal(table([], [{ title: "A", show: () => "" }, { title: "B", show: () => "" }]), "A  B\n");
});

Deno.test("table() lets no cell take over the terminal or break its line", () => {
  const text = table([{ host: "a\x1b]0;owned\x07\nb" }], [{ title: "HOST", show: ({ host }) => host }]);
  assert.equal(text, "HOST\na\\u{1b}]0;owned\\u{7}\\u{a}b\n");
});
