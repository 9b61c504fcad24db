import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import { socketError } from "../../../../src/runtime/network/socket_error.ts";

Deno.test("socketError() says of a unix socket whose queue is full that it is busy, which is no fault of ours", () => {
  const full = Object.assign(new Deno.errors.WouldBlock("Resource temporarily unavailable (os error 11)"), {
    code: "EAGAIN",
  });
  const { code, detail, message } = socketError(full, "/run/door") as PosternError;
  assert.deepEqual([code, detail], ["unreachable", "overloaded"]);
  assert.equal(message, "Cannot reach /run/door: too many wait there already");
});
