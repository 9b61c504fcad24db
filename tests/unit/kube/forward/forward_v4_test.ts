import assert from "node:assert/strict";
import { type Conn, StreamedConn } from "../../../../src/core/mod.ts";
import { ForwardV4 } from "../../../../src/kube/forward/forward_v4.ts";
import { WebSocketReader } from "../../../../src/wire/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";

/** A server that only sends pings, as fast as possible, and reads nothing. */
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

Deno.test("ForwardV4 sends no more pongs than the server reads", async () => {
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

/** A server that reads nothing and sends what a test tells it to. */
class SlowServer extends StreamedConn implements Conn {
  readonly peer = "api";
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #said = Promise.withResolvers<Uint8Array>();
  readonly #dropped = Promise.withResolvers<never>();

  constructor() {
    super();
    this.#dropped.promise.catch(() => {});
  }

  say(bytes: Uint8Array): void {
    this.#said.resolve(bytes);
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    const bytes = await Promise.race([this.#said.promise, this.#dropped.promise]);
    into.set(bytes);
    return bytes.length;
  }

  write(): Promise<void> {
    return this.#dropped.promise;
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  abort(reason?: unknown): void {
    this.#dropped.reject(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.abort();
    return Promise.resolve();
  }
}

Deno.test("ForwardV4 releases a writer when the pod has ended, and still delivers the pod's data", async () => {
  const conn = new SlowServer();
  const clock = new FakeClock();
  const { stream } = new ForwardV4(conn, {
    clock,
    target: { namespace: "shop", pod: "web-1", port: 80 },
    pulse: { quiet: 3000, patience: 12_000, keepalive: 30_000 },
    onOver: () => {},
  });
  // More data than it buffers for a server that reads nothing.
  const writing = assert.rejects(stream.write(new Uint8Array(600_000)), {
    code: "unreachable",
    detail: "reset",
  });
  await settle();
  const messages = [[0, 80, 0], [0, ..."bye".split("").map((letter) => letter.charCodeAt(0))]];
  conn.say(Uint8Array.from([
    ...messages.flatMap((message) => [0x82, message.length, ...message]),
    ...[0x88, 2, 0x03, 0xe8],
  ]));
  // The client does not read yet.
  await writing;
  const into = new Uint8Array(10);
  assert.equal(await stream.read(into), 3);
  assert.equal(new TextDecoder().decode(into.subarray(0, 3)), "bye");
  assert.equal(await stream.read(into), null);
  await stream[Symbol.asyncDispose]();
  assert.equal(clock.waiting, 0);
});

/** A server that accepts each write only on command and in two parts, like a socket with a full buffer. */
class PartlyTakingServer extends SlowServer {
  readonly taken: number[] = [];
  readonly #waiting: (() => void)[] = [];

  override async write(bytes: Uint8Array = new Uint8Array()): Promise<void> {
    const half = Math.ceil(bytes.length / 2);
    for (const part of [bytes.subarray(0, half), bytes.subarray(half)]) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.taken.push(...part);
    }
  }

  take(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

Deno.test("ForwardV4 sends complete messages in order, although a socket takes them in parts", async () => {
  const conn = new PartlyTakingServer();
  const { stream } = new ForwardV4(conn, {
    clock: new FakeClock(),
    target: { namespace: "shop", pod: "web-1", port: 80 },
    pulse: { quiet: 3000, patience: 12_000, keepalive: 30_000 },
    onOver: () => {},
  });
  for (const text of ["first", "second"]) await stream.write(Uint8Array.from(new TextEncoder().encode(text)));
  for (let turn = 0; turn < 8; turn++) {
    await settle();
    conn.take();
  }
  await settle();
  const said = new WebSocketReader("server").receive(Uint8Array.from(conn.taken));
  assert.deepEqual(
    said.map((effect) => effect.kind === "data" && new TextDecoder().decode(effect.bytes.subarray(1))),
    ["first", "second"],
  );
  stream.abort();
});
