import assert from "node:assert/strict";
import fc from "fast-check";
import { errorPage } from "../../../../src/listeners/pages/page.ts";
import { answerBytes } from "../../../../src/listeners/http/http_answer.ts";
import { decodeResponseHead, Http1Problem } from "../../../../src/wire/mod.ts";
import { type ErrorCode, PosternError } from "../../../../src/words/mod.ts";

const long = "Cannot reach the API server of the cluster " + "x".repeat(100);
const phrases = [
  {
    error: new PosternError("refused", "Cannot reach a:1", { reason: "connection refused" }),
    is: "cannot reach a:1: connection refused",
  },
  { error: new PosternError("no_route", "Cannot reach a:1: no rule"), is: "cannot reach a:1: no rule" },
  {
    error: new PosternError("refused", long, { reason: "connection refused" }),
    is: `${long.replace("C", "c").slice(0, 97)}...: connection refused`,
  },
  {
    error: new PosternError("refused", long, { reason: "r".repeat(61) }),
    is: `${long.replace("C", "c").slice(0, 117)}...`,
  },
  { error: new Http1Problem(400, "Cannot read b\u00fccher\r\nX: y"), is: "cannot read b?cher??X: y" },
  { error: new Http1Problem(400, "x".repeat(121)), is: `${"x".repeat(117)}...` },
  { error: new Http1Problem(400, "x".repeat(120)), is: "x".repeat(120) },
];
for (const { error, is } of phrases) {
  Deno.test(`errorPage() has the phrase "${is.slice(0, 60)}"`, () =>
    assert.equal(errorPage(error).phrase, is));
}

Deno.test("errorPage() adds no line, and keeps its phrase short and printable, for any error", () => {
  const anything = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(..."\r\n\t :a\0\u2028") }),
  );
  const codes = fc.constantFrom<ErrorCode>("refused", "auth", "internal", "protocol");
  fc.assert(fc.property(codes, anything, fc.option(anything), anything, (code, message, reason, hint) => {
    const page = errorPage(new PosternError(code, message, { hint, ...(reason !== null && { reason }) }));
    const bytes = answerBytes(page, { method: "GET", keeps: false, date: new Date(0) });
    const { value, used } = decodeResponseHead(bytes) ?? assert.fail();
    assert.match(value.reason, /^[\x20-\x7e]{0,120}$/);
    const names = [...value.fields].map(([name]) => name);
    assert.deepEqual(names, ["Content-Type", "Postern-Error", "Content-Length", "Date", "Connection"]);
    assert.equal(Number(value.fields.get("content-length")), bytes.length - used);
  }));
});
