import { patternBytes } from "../support/pattern_bytes.ts";
import { latin1, RawClient, socks5Asking } from "../support/raw_client.ts";
import type { StreamAccount } from "./fault_ledger.ts";
import type { PlannedStream } from "./fault_schedule.ts";

/** The bytes that one end of a stream received. */
interface Arrival {
  bytes: number;
  /** The position of the first wrong byte, and the received bytes. */
  corrupted: { readonly at: number; readonly bytes: Uint8Array } | undefined;
  isOver: boolean;
}

/** An open connection of a target. */
export interface OpenArrival {
  readonly way: string;
  /** The stream, once its first bytes have arrived. */
  id: number | undefined;
}

/** The host and port of a client's request. */
export interface AskedTarget {
  readonly host: string;
  readonly port: number;
}

/**
 * Both ends of the streams of a schedule: targets that identify a stream by its first four bytes, and clients
 * that connect through an instance. Both compare every received byte with the sent one.
 */
export class PatternStreams implements AsyncDisposable {
  readonly #plans = new Map<number, PlannedStream>();
  readonly #arrivals = new Map<number, Arrival>();
  readonly #listeners: Deno.TcpListener[] = [];
  readonly #running = new Set<Promise<void>>();
  /** The open connections of targets. */
  readonly #clients = new Map<RawClient, OpenArrival>();
  /** Received data that belongs to no stream. */
  readonly strange: string[] = [];

  /** Starts a target on loopback for a route and returns its port. */
  listen(way: string): number {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#listeners.push(listener);
    this.#follow(this.#accept(listener, way));
    return listener.addr.port;
  }

  /** The connections that targets still hold. */
  get open(): OpenArrival[] {
    return [...this.#clients.values()];
  }

  /** Runs a planned stream through an instance; never throws. The caller adds `outcome`. */
  async carry(
    plan: PlannedStream,
    { instance, target, patience }: {
      readonly instance: string;
      readonly target: AskedTarget;
      /** The deadline in ms. */
      readonly patience: number;
    },
  ): Promise<Omit<StreamAccount, "outcome"> & { readonly local: string }> {
    this.#plans.set(plan.id, plan);
    const begunAt = performance.now();
    const seen: Arrival = { bytes: 0, corrupted: undefined, isOver: false };
    let failure: string | undefined;
    let isLate = false;
    let client: RawClient | undefined;
    const timer = setTimeout(() => {
      isLate = true;
      client?.close();
    }, patience);
    try {
      client = await RawClient.connect(instance);
      await exchange(client, plan, { target, seen });
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    } finally {
      clearTimeout(timer);
    }
    const local = client?.local ?? "";
    client?.close();
    if (failure === undefined) await this.#untilOver(plan, patience);
    const arrival = this.#arrivals.get(plan.id);
    return {
      plan,
      begunAt,
      endedAt: performance.now(),
      up: arrival?.bytes ?? 0,
      down: seen.bytes,
      corrupted: this.#corruption(seen, "client") ?? this.#corruption(arrival, "target"),
      isLate,
      failure,
      local,
    };
  }

  /** Describes a wrong byte and finds the stream it belongs to. */
  #corruption(arrival: Arrival | undefined, where: string): string | undefined {
    if (!arrival?.corrupted) return undefined;
    const { at, bytes } = arrival.corrupted;
    const wrong = bytes.toHex();
    let origin = "of no stream";
    for (const plan of this.#plans.values()) {
      for (const direction of ["up", "down"] as const) {
        const seed = direction === "up" ? upSeed(plan) : downSeed(plan);
        const found = patternBytes(plan[direction], seed).toHex().indexOf(wrong);
        if (found >= 0 && found % 2 === 0) origin = `byte ${found / 2} ${direction} of stream ${plan.id}`;
      }
    }
    return `byte ${at} at the ${where} starts ${wrong}, ${origin}`;
  }

  /** Waits for the target: a client may finish before the target has read all bytes. */
  async #untilOver(plan: PlannedStream, patience: number): Promise<void> {
    const until = performance.now() + patience;
    const isOver = () => this.#arrivals.get(plan.id)?.isOver ?? false;
    while (!isOver() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async #accept(listener: Deno.TcpListener, way: string): Promise<void> {
    for await (const conn of listener) this.#follow(this.#serve(new RawClient(conn), way));
  }

  async #serve(client: RawClient, way: string): Promise<void> {
    const open: OpenArrival = { way, id: undefined };
    this.#clients.set(client, open);
    let arrival: Arrival | undefined;
    try {
      const [a = 0, b = 0, c = 0, d = 0] = await client.take(4);
      open.id = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
      const plan = this.#plans.get(open.id);
      if (!plan) return void this.strange.push(`a stream that begins with ${[a, b, c, d]}`);
      arrival = { bytes: 0, corrupted: undefined, isOver: false };
      this.#arrivals.set(plan.id, arrival);
      const expected = patternBytes(plan.up, upSeed(plan));
      const answer = () => sendPieces(client, patternBytes(plan.down, downSeed(plan)), plan);
      if (plan.isHalfClosed) {
        await receive(client, expected, arrival);
        await answer();
      } else {
        await Promise.all([receive(client, expected, arrival, expected.length), answer()]);
      }
    } catch {
      // Broken connections are expected: the accounts record them.
    } finally {
      if (arrival) arrival.isOver = true;
      this.#clients.delete(client);
      client.close();
    }
  }

  #follow(running: Promise<void>): void {
    const followed = running.finally(() => this.#running.delete(followed));
    this.#running.add(followed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    for (const client of this.#clients.keys()) client.close();
    await Promise.all(this.#running);
  }
}

/** Runs a client: requests, sends, receives and closes. */
async function exchange(
  client: RawClient,
  plan: PlannedStream,
  { target, seen }: { target: AskedTarget; seen: Arrival },
): Promise<void> {
  const { id } = plan;
  const head = Uint8Array.of(id >>> 24, id >>> 16, id >>> 8, id);
  const asking = askingFor(plan.protocol, target);
  await client.send(plan.isEarly ? Uint8Array.of(...asking, ...head) : asking);
  await answered(client, plan.protocol);
  if (!plan.isEarly) await client.send(head);
  const sending = async () => {
    await sendPieces(client, patternBytes(plan.up, upSeed(plan)), plan);
    if (plan.isHalfClosed) await client.end();
  };
  await Promise.all([sending(), receive(client, patternBytes(plan.down, downSeed(plan)), seen)]);
  if (seen.bytes < plan.down) throw new Error("the instance closed the connection");
}

/** Reads to the end, or up to a number of bytes. */
async function receive(
  client: RawClient,
  expected: Uint8Array,
  seen: Arrival,
  most = Infinity,
): Promise<void> {
  while (seen.bytes < most) {
    const bytes = await client.some();
    if (!bytes) return;
    const wrong = bytes.findIndex((byte, at) => byte !== expected[seen.bytes + at]);
    if (wrong >= 0 && !seen.corrupted) {
      seen.corrupted = { at: seen.bytes + wrong, bytes: bytes.slice(wrong, wrong + 16) };
    }
    seen.bytes += bytes.length;
  }
}

async function sendPieces(
  client: RawClient,
  bytes: Uint8Array,
  { piece, pause }: PlannedStream,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece) {
    if (at > 0 && pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    await client.send(bytes.subarray(at, at + piece));
  }
}

function askingFor(protocol: PlannedStream["protocol"], target: AskedTarget): Uint8Array<ArrayBuffer> {
  const { host, port } = target;
  if (protocol === "socks5") return socks5Asking(target);
  if (protocol === "http") {
    return latin1(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
  }
  // SOCKS4a: an invalid address, an empty user, and the name.
  return Uint8Array.of(4, 1, port >> 8, port & 255, 0, 0, 0, 1, 0, ...latin1(host), 0);
}

async function answered(client: RawClient, protocol: PlannedStream["protocol"]): Promise<void> {
  if (protocol === "http") {
    const head = await client.takeUntil("\r\n\r\n");
    if (!/^HTTP\/1\.1 200 /.test(head)) throw new Error(head.slice(0, 300).replaceAll("\r\n", " "));
  } else if (protocol === "socks5") {
    const [, , , code] = await client.take(6);
    if (code !== 0) throw new Error(`SOCKS5 reply ${code}`);
    await client.take(6);
  } else {
    const [, code] = await client.take(8);
    if (code !== 90) throw new Error(`SOCKS4 reply ${code}`);
  }
}

function upSeed({ id }: PlannedStream): number {
  return id * 2654435761;
}

function downSeed({ id }: PlannedStream): number {
  return id * 40503 + 7;
}
