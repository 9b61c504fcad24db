import { type Conn, Tasks } from "../core/mod.ts";
import { describe } from "../words/mod.ts";
import {
  type SpdyEffect,
  type SpdySession,
  webSocketOpcodes,
  WebSocketReader,
  webSocketServerFrame,
} from "../wire/mod.ts";

export interface DemoForwardsOptions {
  readonly signal: AbortSignal;
  /** A new session for this connection. */
  readonly spdy: SpdySession;
  /** Connects to a port in the pod. */
  readonly connect: (port: number, options: { signal: AbortSignal }) => Promise<Conn>;
}

/** A forward that the client is opening: its streams so far. */
interface Asked {
  errors?: number;
  data?: number;
}

/**
 * The kubelet side of port-forwards to the demo's pod: SPDY over WebSocket messages, two streams per forward.
 * As with a real kubelet, a slow reader blocks the other forwards.
 */
export class DemoForwards {
  readonly #client: Conn;
  readonly #options: DemoForwardsOptions;
  readonly #spdy: SpdySession;
  readonly #webSocket = new WebSocketReader("server");
  readonly #asked = new Map<string, Asked>();
  /** The connections into the pod, by data stream. */
  readonly #pods = new Map<number, Conn>();
  #writing: Promise<void> = Promise.resolve();

  constructor(client: Conn, options: DemoForwardsOptions) {
    this.#client = client;
    this.#spdy = options.spdy;
    this.#options = options;
  }

  /** Serves until the client closes. */
  async serve(): Promise<void> {
    // A broken forward has already informed its client.
    await using forwards = new Tasks(this.#options.signal, () => {});
    const into = new Uint8Array(32 * 1024);
    try {
      for (let count = await this.#client.read(into); count !== null; count = await this.#client.read(into)) {
        for (const effect of this.#webSocket.receive(into.subarray(0, count))) {
          if (effect.kind === "close") return;
          if (effect.kind === "ping") await this.#sayFrame(webSocketOpcodes.pong, effect.bytes);
          if (effect.kind !== "data") continue;
          for (const said of this.#spdy.receive(effect.bytes)) await this.#do(said, forwards);
        }
      }
    } finally {
      for (const pod of this.#pods.values()) pod.abort();
    }
  }

  async #do(effect: SpdyEffect, forwards: Tasks): Promise<void> {
    switch (effect.kind) {
      case "send":
        return await this.#say(effect.bytes);
      case "opened":
        return await this.#onOpened(effect.stream, effect.headers, forwards);
      case "data":
        return await this.#toPod(effect.stream, (pod) => pod.write(effect.bytes));
      case "ended":
        return await this.#toPod(effect.stream, (pod) => pod.closeWrite());
      case "reset":
        this.#pods.get(effect.stream)?.abort();
    }
  }

  /** A failed write shows up when the answer is read. */
  async #toPod(stream: number, say: (pod: Conn) => Promise<void>): Promise<void> {
    const pod = this.#pods.get(stream);
    if (!pod) return;
    try {
      await say(pod);
    } catch (error) {
      pod.abort(error);
    }
  }

  async #onOpened(stream: number, headers: ReadonlyMap<string, string>, forwards: Tasks): Promise<void> {
    await this.#say(this.#spdy.reply(stream));
    const id = headers.get("requestid") ?? "";
    const asked = this.#asked.get(id) ?? {};
    if (headers.get("streamtype") === "error") asked.errors = stream;
    else asked.data = stream;
    this.#asked.set(id, asked);
    const { errors, data } = asked;
    if (errors === undefined || data === undefined) return;
    this.#asked.delete(id);
    const { connect, signal } = this.#options;
    try {
      const pod = await connect(Number(headers.get("port")), { signal });
      this.#pods.set(data, pod);
      forwards.spawn(() => this.#fromPod(pod, { errors, data }));
    } catch (error) {
      await this.#refuse({ errors, data }, describe(error));
    }
  }

  async #fromPod(pod: Conn, { errors, data }: Required<Asked>): Promise<void> {
    await using _pod = pod;
    const into = new Uint8Array(32 * 1024);
    try {
      for (let count = await pod.read(into); count !== null; count = await pod.read(into)) {
        await this.#sayData(data, into.subarray(0, count));
      }
      await this.#say(this.#spdy.end(data));
      await this.#say(this.#spdy.end(errors));
    } catch {
      await this.#say(this.#spdy.reset(data));
    } finally {
      this.#pods.delete(data);
    }
  }

  /** In the order of a kubelet: first the end of the data, then the reason. */
  async #refuse({ errors, data }: Required<Asked>, reason: string): Promise<void> {
    await this.#say(this.#spdy.end(data));
    await this.#sayData(errors, new TextEncoder().encode(reason));
    await this.#say(this.#spdy.end(errors));
  }

  #sayData(stream: number, bytes: Uint8Array): Promise<void> {
    return this.#say(new Uint8Array([...this.#spdy.dataHead(stream, bytes.length), ...bytes]));
  }

  async #say(bytes: Uint8Array | undefined): Promise<void> {
    if (bytes) await this.#sayFrame(webSocketOpcodes.binary, bytes);
  }

  /** Queues a frame, so that writes do not overlap. */
  #sayFrame(opcode: number, bytes: Uint8Array): Promise<void> {
    const frame = webSocketServerFrame(opcode, bytes);
    return this.#writing = this.#writing.then(() => this.#client.write(frame));
  }
}
