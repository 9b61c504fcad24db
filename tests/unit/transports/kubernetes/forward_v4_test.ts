import assert from "node:assert/strict";
import { type Conn, StreamedConn } from "../../../../src/core/mod.ts";
import { ForwardV4 } from "../../../../src/transports/kubernetes/forward_v4.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";

/** A server that says nothing but pings, as fast as it is read, and takes nothing. */
class PingingServer extends StreamedConn implements Conn {
  readonly peer = "api";
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  reads = 0;
  said = 0;
  #fail: ((reason: unknown) => void) | undefined;

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.reads++ === 100) return new Promise((_, reject) => this.#fail = reject);
    const ping = Uint8Array.of(0x89, 125, ...new Uint8Array(125));
    const count = Math.floor(into.length / ping.length);
    for (let at = 0; at < count; at++) into.set(ping, at * ping.length);
    return Promise.resolve(count * ping.length);
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.said += bytes.length;
    return new Promise(() => {});
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  abort(reason?: unknown): void {
    this.#fail?.(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.abort();
    return Promise.resolve();
  }
}

Deno.test("ForwardV4 gives no more answers than the server takes", async () => {
  const conn = new PingingServer();
  const { stream } = new ForwardV4(conn, {
    clock: new FakeClock(),
    target: { namespace: "shop", pod: "web-1", port: 80 },
    pulse: { quiet: 3000, patience: 12_000, keepalive: 30_000 },
    onOver: () => {},
  });
  while (conn.reads <= 100) await settle();
  assert.ok(conn.said > 0 && conn.said <= 512 * 1024, `${conn.said} bytes wait`);
  stream.abort();
});
