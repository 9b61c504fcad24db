import assert from "node:assert/strict";
import { SocketConn } from "../../../../src/runtime/network/socket_conn.ts";

Deno.test("SocketConn accepts a socket that was reset early, and reports it at the first read", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using _client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  const socket = await listener.accept();
  // As on macOS: a socket that is shut down in both directions accepts no options.
  socket.setNoDelay = () => {
    throw Object.assign(new Error("Invalid argument (os error 22)"), { code: "EINVAL" });
  };
  socket.read = () => Promise.reject(new Deno.errors.ConnectionReset("Connection reset by peer"));
  await using conn = new SocketConn(socket);
  await assert.rejects(conn.read(new Uint8Array(1)), /reset/i);
});
