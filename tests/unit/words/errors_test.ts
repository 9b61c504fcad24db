import assert from "node:assert/strict";
import {
  asPosternError,
  describe,
  type ErrorCode,
  exitCode,
  httpStatus,
  isPosternError,
  pathFailure,
  PosternError,
  socks5Reply,
  withContext,
} from "../../../src/words/mod.ts";

// The table of the design.
const table: { code: ErrorCode; exit: number; socks5: number; http: number }[] = [
  { code: "usage", exit: 2, socks5: 1, http: 400 },
  { code: "config", exit: 4, socks5: 1, http: 500 },
  { code: "auth", exit: 5, socks5: 2, http: 403 },
  { code: "not_allowed", exit: 1, socks5: 2, http: 403 },
  { code: "no_route", exit: 6, socks5: 2, http: 403 },
  { code: "name_not_found", exit: 6, socks5: 4, http: 502 },
  { code: "refused", exit: 6, socks5: 5, http: 502 },
  { code: "unreachable", exit: 6, socks5: 4, http: 502 },
  { code: "timeout", exit: 6, socks5: 6, http: 504 },
  { code: "protocol", exit: 1, socks5: 1, http: 502 },
  { code: "cancelled", exit: 130, socks5: 1, http: 499 },
  { code: "internal", exit: 1, socks5: 1, http: 500 },
];
for (const { code, exit, socks5, http } of table) {
  Deno.test(`exitCode(), socks5Reply() and httpStatus() of ${code} are those of the design`, () => {
    const error = new PosternError(code, "Cannot");
    assert.deepEqual([exitCode(error), socks5Reply(error), httpStatus(error)], [exit, socks5, http]);
    assert.equal(isPosternError(error, code), true);
  });
}

Deno.test("socks5Reply() depends on the detail of some codes", () => {
  const reply = (...[code, detail]: [ErrorCode, "network" | "host" | "command" | "address_type"]) =>
    socks5Reply(new PosternError(code, "Cannot", { detail }));
  assert.deepEqual(
    [
      reply("unreachable", "network"),
      reply("unreachable", "host"),
      reply("not_allowed", "command"),
      reply("protocol", "address_type"),
    ],
    [3, 4, 7, 8],
  );
});

Deno.test("exitCode() prefers the exit code of the error", () => {
  assert.equal(exitCode(new PosternError("refused", "Cannot", { exit: 3 })), 3);
  assert.equal(exitCode(new Error("boom")), 1);
  assert.equal(exitCode(undefined), 1);
});

Deno.test("httpStatus() of an overloaded instance is 503", () => {
  assert.equal(httpStatus(new PosternError("internal", "Cannot", { detail: "overloaded" })), 503);
});

const foreign = [
  { name: "an aborted signal", error: new DOMException("stop", "AbortError"), code: "cancelled" },
  { name: "a signal that timed out", error: new DOMException("late", "TimeoutError"), code: "timeout" },
  { name: "an error", error: new TypeError("boom"), code: "internal" },
  { name: "a string", error: "boom", code: "internal" },
  { name: "nothing", error: undefined, code: "internal" },
];
for (const { name, error, code } of foreign) {
  Deno.test(`asPosternError() converts ${name} to ${code} and keeps it as the cause`, () => {
    const made = asPosternError(error);
    assert.equal(made.code, code);
    assert.equal(made.cause, error);
    assert.equal(asPosternError(made), made);
  });
}

const chains = [
  { name: "a message", error: new Error("a"), text: "a" },
  {
    name: "causes in order",
    error: new Error("a", { cause: new Error("b", { cause: "c" }) }),
    text: "a: b: c",
  },
  {
    name: "a cause that repeats the message",
    error: new Error("Cannot reach it: connection refused", {
      cause: new Error("Connection refused (os error 111)"),
    }),
    text: "Cannot reach it: connection refused",
  },
  { name: "an error without a message", error: new TypeError(""), text: "TypeError" },
  { name: "a string", error: "plain", text: "plain" },
];
for (const { name, error, text } of chains) {
  Deno.test(`describe() formats ${name}`, () => assert.equal(describe(error), text));
}

Deno.test("describe() handles circular causes", () => {
  const error = new Error("a");
  error.cause = new Error("b", { cause: error });
  assert.equal(describe(error), "a: b");
});

Deno.test("withContext() keeps code, detail, hint and exit, and appends only the reason", () => {
  const inner = new PosternError("refused", "Cannot reach 127.0.0.1:80", {
    reason: "connection refused",
    detail: "host",
    hint: "start it",
    exit: 7,
  });
  const { code, message, detail, hint, exit, reason, cause } = withContext("Cannot reach the site", inner);
  assert.deepEqual([code, message, detail, hint, exit, reason, cause], [
    "refused",
    "Cannot reach the site: connection refused",
    "host",
    "start it",
    7,
    undefined,
    inner,
  ]);
});

const contexts = [
  {
    name: "the whole message of an error without a reason",
    error: new PosternError("config", 'Cannot read "/ca.pem": no such file'),
    message: 'Cannot reach it: cannot read "/ca.pem": no such file',
    code: "config",
  },
  {
    name: "the message of a foreign error",
    error: new TypeError("boom"),
    message: "Cannot reach it: boom",
    code: "internal",
  },
  {
    name: "the context that a reason already has",
    error: withContext(
      "Cannot reach the proxy",
      new PosternError("timeout", "Cannot", { reason: "no answer" }),
    ),
    message: "Cannot reach it: cannot reach the proxy: no answer",
    code: "timeout",
  },
];
for (const { name, error, message, code } of contexts) {
  Deno.test(`withContext() appends ${name}`, () => {
    const made = withContext("Cannot reach it", error);
    assert.deepEqual([made.message, made.code, describe(made)], [message, code, message]);
  });
}

for (
  const [code, made] of [["refused", "unreachable"], ["name_not_found", "unreachable"], [
    "auth",
    "auth",
  ]] as const
) {
  Deno.test(`pathFailure() converts ${code} to ${made}`, () => {
    assert.equal(pathFailure("Cannot reach the proxy", new PosternError(code, "Cannot")).code, made);
  });
}

Deno.test("PosternError.with() changes only the hint", () => {
  for (const reason of [undefined, "no answer"]) {
    const error = new PosternError("timeout", "Cannot reach it", {
      reason,
      detail: "host",
      exit: 3,
      hint: "a",
    });
    const made = error.with({ hint: "b" });
    assert.deepEqual([made.message, made.reason, made.detail, made.exit, made.hint], [
      error.message,
      reason,
      "host",
      3,
      "b",
    ]);
    assert.equal(describe(made), error.message);
  }
});

Deno.test("describe() does not append the system's message to a reason", () => {
  const cause = new Error("Network is unreachable (os error 101)");
  const error = new PosternError("unreachable", "Cannot reach a", {
    reason: "no way to that network",
    cause,
  });
  assert.equal(describe(error), "Cannot reach a: no way to that network");
});
