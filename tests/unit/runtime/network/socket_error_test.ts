import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import { socketError } from "../../../../src/runtime/network/socket_error.ts";

Deno.test("socketError() reports a unix socket with a full queue as overloaded", () => {
  const full = Object.assign(new Deno.errors.WouldBlock("Resource temporarily unavailable (os error 11)"), {
    code: "EAGAIN",
  });
  const { code, detail, message } = socketError(full, "/run/postern") as PosternError;
  assert.deepEqual([code, detail], ["unreachable", "overloaded"]);
  assert.equal(message, "Cannot reach /run/postern: its queue of clients is full");
});
