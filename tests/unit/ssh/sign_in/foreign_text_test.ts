import assert from "node:assert/strict";
import { causeLines, foreignText } from "../../../../src/ssh/sign_in/foreign_text.ts";

Deno.test("foreignText() keeps letters and lines, but no terminal sequences", () => {
  assert.equal(foreignText("Passwort für €: "), "Passwort für €: ");
  assert.equal(foreignText("one\r\ntwo\rthree"), "one\ntwo\nthree");
  assert.equal(foreignText("\x1b]0;title\x07\x1b[2J\u009b1m\u202eevil\0"), "?]0;title??[2J?1m?evil?");
  assert.equal(foreignText("x".repeat(5000)).length, 1000);
  assert.equal(foreignText("abc", { limit: 2 }), "ab");
});

Deno.test("causeLines() returns the cause of a postern among the programs, not its hint", () => {
  const said = "banner\n\npostern: error: Cannot reach db:22: connection refused\npostern: hint: try again\n";
  assert.deepEqual(causeLines(said), ["banner", "cannot reach db:22: connection refused"]);
});
