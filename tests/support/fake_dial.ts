import {
  type Conn,
  Deadlines,
  type Dial,
  type Dialed,
  type DialRequest,
  Messages,
} from "../../src/core/mod.ts";
import type { ListenerDeps, Serve } from "../../src/listeners/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { type MemoryConn, memoryPair } from "./memory_conn.ts";
import { recordingLog } from "./recording_log.ts";
export { fromHex, toHex } from "./hex.ts";

/** A finished dial: the target's end, and the result. */
export interface FakeDialed {
  readonly request: DialRequest;
  readonly target: MemoryConn;
  readonly tally: { up: number; down: number };
  outcome: string | undefined;
  error: unknown;
}

/** A `Dial` that succeeds in memory or fails with `failure`. */
export class FakeDial {
  readonly made: FakeDialed[] = [];
  failure: unknown;
  readonly #capacity: number | undefined;
  #waiting: { count: number; resolve: () => void }[] = [];

  constructor({ capacity }: { capacity?: number } = {}) {
    this.#capacity = capacity;
  }

  readonly dial: Dial = (request) => {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const [conn, target] = memoryPair(this.#capacity === undefined ? {} : { capacity: this.#capacity });
    const tally = { up: 0, down: 0 };
    const made: FakeDialed = { request, target, tally, outcome: undefined, error: undefined };
    this.made.push(made);
    for (const { count, resolve } of this.#waiting) if (this.made.length >= count) resolve();
    const dialed: Dialed = {
      conn,
      tally,
      finish(outcome, error) {
        if (made.outcome !== undefined) return;
        made.outcome = outcome;
        made.error = error;
        void conn[Symbol.asyncDispose]();
      },
    };
    return Promise.resolve(dialed);
  };

  /** Waits for the dial with this index, counted from 0. */
  async nth(index: number): Promise<FakeDialed> {
    while (true) {
      const made = this.made[index];
      if (made) return made;
      await new Promise<void>((resolve) => this.#waiting.push({ count: index + 1, resolve }));
    }
  }
}

export interface ServedClient {
  /** The client's end. */
  readonly client: MemoryConn;
  readonly served: Promise<void>;
  readonly dials: FakeDial;
  /** The dependencies; a reload replaces the dial. */
  readonly deps: ListenerDeps & { dial: Dial };
  readonly clock: FakeClock;
  readonly log: ReturnType<typeof recordingLog>;
  readonly stop: AbortController;
}

/** Serves one client in memory with `serve`. */
export function serveClient(
  serve: Serve,
  { capacity, ...over }: Partial<ListenerDeps> & { capacity?: number } = {},
): ServedClient {
  const clock = new FakeClock();
  const log = recordingLog();
  const dials = new FakeDial(capacity === undefined ? {} : { capacity });
  const stop = new AbortController();
  const deps: ListenerDeps & { dial: Dial } = {
    dial: dials.dial,
    clock,
    log,
    deadlines: new Deadlines(clock),
    limits: { connections: 100, handshake: 10_000, halfCloseLinger: 30_000 },
    ...over,
  };
  const [client, listener] = memoryPair(capacity === undefined ? {} : { capacity });
  stop.signal.addEventListener("abort", () => listener.abort(stop.signal.reason));
  const served = serve(listener, new Messages(listener), deps, {
    signal: stop.signal,
  });
  return { client, served, dials, deps, clock, log, stop };
}

/** Reads exactly the next `count` bytes. */
export async function readExactly(conn: Conn, count: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(count);
  let at = 0;
  while (at < count) {
    const got = await conn.read(bytes.subarray(at));
    if (got === null) throw new Error(`the peer ended after ${at} of ${count} bytes`);
    at += got;
  }
  return bytes;
}

/** Reads up to and including `end`, and no more. */
export async function readUntil(conn: Conn, end: string): Promise<string> {
  let text = "";
  const byte = new Uint8Array(1);
  while (!text.endsWith(end)) {
    if (await conn.read(byte) === null) throw new Error(`the peer ended after ${JSON.stringify(text)}`);
    text += String.fromCharCode(byte[0] ?? 0);
  }
  return text;
}

/** Encodes text as bytes. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
