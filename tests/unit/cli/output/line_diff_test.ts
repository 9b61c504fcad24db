import assert from "node:assert/strict";
import { lineDiff } from "../../../../src/cli/output/line_diff.ts";

const cases = [
  { name: "equal texts", before: "a\nb", after: "a\nb", lines: [] },
  {
    name: "a changed line",
    before: "a\nb\nc",
    after: "a\nx\nc",
    lines: ["@@ -1,3 +1,3 @@", " a", "-b", "+x", " c"],
  },
  { name: "an added line", before: "a\nb", after: "a\nx\nb", lines: ["@@ -1,2 +1,3 @@", " a", "+x", " b"] },
  { name: "a removed line", before: "a\nx\nb", after: "a\nb", lines: ["@@ -1,3 +1,2 @@", " a", "-x", " b"] },
  {
    name: "two places far apart",
    before: "1\n2\n3\n4\n5\n6\n7\n8\n9\n10",
    after: "0\n2\n3\n4\n5\n6\n7\n8\n9\n11",
    lines: [
      ...["@@ -1,4 +1,4 @@", "-1", "+0", " 2", " 3", " 4"],
      ...["@@ -7,4 +7,4 @@", " 7", " 8", " 9", "-10", "+11"],
    ],
  },
];
for (const { name, before, after, lines } of cases) {
  Deno.test(`lineDiff() of ${name}`, () => assert.deepEqual(lineDiff(before, after), lines));
}

Deno.test("lineDiff() of two long, different texts shows both whole", () => {
  const text = (word: string) => Array.from({ length: 3000 }, (_, index) => `${word}${index}`).join("\n");
  assert.equal(lineDiff(text("a"), text("b")).length, 6001);
});
