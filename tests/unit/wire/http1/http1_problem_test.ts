import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { answerStatus, Http1Problem } from "../../../../src/wire/mod.ts";

const cases = [
  {
    name: "an Http1Problem",
    error: new Http1Problem(431, "Cannot read the head: too large"),
    status: 431,
  },
  { name: "any other error", error: new PosternError("timeout", "Cannot reach it: no answer"), status: 504 },
  {
    name: "a canceled request",
    error: new PosternError("cancelled", "The instance was stopped"),
    status: 503,
  },
  { name: "an aborted signal", error: new DOMException("Stopped", "AbortError"), status: 503 },
];

for (const { name, error, status } of cases) {
  Deno.test(`answerStatus() of ${name} is ${status}`, () => assert.equal(answerStatus(error), status));
}
