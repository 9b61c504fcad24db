import type { Conn } from "../../src/core/mod.ts";
import type { KubeUpgrades, Upgrade, UpgradeRequest } from "../../src/kube/forward/forward_api.ts";
import type { ForwardForm } from "../../src/kube/forward/forward_forms.ts";
import { acceptFor } from "../../src/kube/mod.ts";
import {
  Fields,
  type SpdyEffect,
  webSocketClosePayload,
  webSocketOpcodes,
  WebSocketReader,
  webSocketServerFrame,
} from "../../src/wire/mod.ts";
import { SpdySession } from "../../src/wire/spdy/spdy_session.ts";
import { memoryPair } from "./memory_conn.ts";

/** The result for a pod's port: the pod's end of a connection, or the kubelet's error. */
export type PodAnswer = Conn | string;

export interface ForwardStandInOptions {
  /** The supported forms (default: all with SPDY). */
  readonly forms?: readonly ForwardForm[];
  readonly connect: (port: number) => PodAnswer;
  /** The response instead of switching protocols. */
  readonly refuse?: (request: UpgradeRequest) => { status: number; text: string } | undefined;
  /** The number of bytes per write. */
  readonly piece?: number;
}

/**
 * A stand-in in memory for an API server with a kubelet, for rare behavior of real ones: it freezes, sends
 * single bytes, closes, resets. It uses the server role of our own session, so only tests/interop proves
 * compatibility with real servers.
 */
export class ForwardStandIn implements KubeUpgrades {
  readonly name = "lab";
  /** The requests so far: `GET /path protocol`. */
  readonly requests: string[] = [];
  readonly connections: StandInConnection[] = [];
  readonly #options: ForwardStandInOptions;

  constructor(options: ForwardStandInOptions) {
    this.#options = options;
  }

  /** The latest connection. */
  get last(): StandInConnection {
    const last = this.connections.at(-1);
    if (!last) throw new Error("no connection was opened");
    return last;
  }

  get open(): number {
    return this.connections.filter(({ isOver }) => !isOver).length;
  }

  async upgrade(request: UpgradeRequest, { signal }: { signal: AbortSignal }): Promise<Upgrade> {
    signal.throwIfAborted();
    const fields = new Fields(request.fields ?? []);
    const protocol = fields.get("Sec-WebSocket-Protocol") ?? fields.get("Upgrade") ?? "";
    this.requests.push(`${request.method ?? "GET"} ${request.path} ${protocol}`);
    const refused = this.#options.refuse?.(request);
    if (refused) return { ...refused, fields: new Fields() };
    const form = protocol.startsWith("SPDY/3.1+") ? "websocket" : protocol === "SPDY/3.1" ? "spdy" : "v4";
    if (!(this.#options.forms ?? ["websocket", "spdy"]).includes(form)) {
      return { status: 400, fields: new Fields(), text: 'query parameter "port" is required' };
    }
    const key = fields.get("Sec-WebSocket-Key") ?? "";
    const answer: [string, string][] = form === "spdy" ? [["Upgrade", "SPDY/3.1"]] : [
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Accept", await acceptFor(key)],
      ["Sec-WebSocket-Protocol", protocol],
    ];
    const [near, far] = memoryPair({ capacity: 256 * 1024 });
    const port = Number(new URL(request.path, "http://lab").searchParams.get("ports"));
    this.connections.push(new StandInConnection(far, form, port, this.#options));
    return { status: 101, fields: new Fields(answer), conn: near };
  }
}

/** One upgraded connection of the stand-in. */
export class StandInConnection {
  readonly form: ForwardForm;
  /** The pod's ends of the forwards, by the numbers of their data streams. */
  readonly pods = new Map<number, Conn>();
  /** The number of received pings. */
  pings = 0;
  /** The number of WebSocket messages, or of reads without a WebSocket. */
  messages = 0;
  isOver = false;
  readonly done: Promise<void>;
  readonly #conn: Conn;
  readonly #options: ForwardStandInOptions;
  readonly #spdy = new SpdySession("server");
  readonly #webSocket: WebSocketReader | undefined;
  readonly #half = new Map<string, { errors?: number; data?: number; port: number }>();
  #thaw: PromiseWithResolvers<void> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(conn: Conn, form: ForwardForm, port: number, options: ForwardStandInOptions) {
    this.#conn = conn;
    this.form = form;
    this.#options = options;
    this.#webSocket = form === "spdy" ? undefined : new WebSocketReader("server");
    if (form === "v4") this.#beginV4(port);
    this.done = this.#serve().catch(() => {}).finally(() => this.close());
  }

  /** Stops reading and writing but keeps the connection open. */
  freeze(): void {
    this.#thaw ??= Promise.withResolvers<void>();
  }

  thaw(): void {
    this.#thaw?.resolve();
    this.#thaw = undefined;
  }

  goAway(): void {
    this.say(this.#spdy.goAway());
  }

  /** Resets a forward without a message on its error stream. */
  reset(data: number): void {
    const bytes = this.#spdy.reset(data);
    if (bytes) this.say(bytes);
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.thaw();
    for (const pod of this.pods.values()) pod.abort(new Error("the kubelet closed"));
    this.#conn.abort(new Error("the server closed"));
  }

  /** Sends SPDY or channel bytes as one WebSocket message. */
  say(bytes: Uint8Array): Promise<void> {
    const frame = this.#webSocket ? webSocketServerFrame(webSocketOpcodes.binary, bytes) : bytes;
    return this.sayRaw(frame);
  }

  /** Sends raw bytes. */
  sayRaw(bytes: Uint8Array): Promise<void> {
    const copy = new Uint8Array(bytes);
    const { piece = copy.length } = this.#options;
    return this.#writing = this.#writing.then(async () => {
      for (let at = 0; at < copy.length; at += piece) {
        await this.#thaw?.promise;
        await this.#conn.write(copy.subarray(at, at + piece));
      }
    }).catch(() => {});
  }

  async #serve(): Promise<void> {
    const into = new Uint8Array(64 * 1024);
    while (!this.isOver) {
      await this.#thaw?.promise;
      const count = await this.#conn.read(into);
      if (count === null) return;
      await this.#thaw?.promise;
      if (!this.#webSocket) {
        this.messages++;
        await this.#receive(into.subarray(0, count));
        continue;
      }
      for (const effect of this.#webSocket.receive(into.subarray(0, count))) {
        if (effect.kind === "close") return;
        if (effect.kind === "ping") {
          this.pings++;
          this.sayRaw(webSocketServerFrame(webSocketOpcodes.pong, effect.bytes));
        }
        if (effect.kind !== "data") continue;
        if (effect.isStart) this.messages++;
        if (this.form === "websocket") await this.#receive(effect.bytes);
        else await this.pods.get(0)?.write(effect.isStart ? effect.bytes.slice(1) : effect.bytes);
      }
    }
  }

  async #receive(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    for (const effect of this.#spdy.receive(bytes)) await this.#do(effect);
  }

  async #do(effect: SpdyEffect): Promise<void> {
    if (effect.kind === "send") {
      this.pings++;
      this.say(effect.bytes);
    } else if (effect.kind === "opened") this.#onOpened(effect.stream, effect.headers);
    // A pod that does not read blocks all streams, as in moby/spdystream.
    else if (effect.kind === "data") await this.pods.get(effect.stream)?.write(effect.bytes).catch(() => {});
    else if (effect.kind === "ended") this.pods.get(effect.stream)?.closeWrite();
    else if (effect.kind === "reset") this.pods.get(effect.stream)?.abort(new Error("the client reset"));
  }

  #onOpened(stream: number, headers: ReadonlyMap<string, string>): void {
    this.say(this.#spdy.reply(stream));
    const id = headers.get("requestid") ?? "";
    const half = this.#half.get(id) ?? { port: Number(headers.get("port")) };
    this.#half.set(id, half);
    if (headers.get("streamtype") === "error") half.errors = stream;
    else half.data = stream;
    if (half.errors !== undefined && half.data !== undefined) {
      this.#forward(half.port, { errors: half.errors, data: half.data });
    }
  }

  #forward(port: number, { errors, data }: { errors: number; data: number }): void {
    const answer = this.#options.connect(port);
    const end = (stream: number) => this.#say(this.#spdy.end(stream));
    if (typeof answer === "string") {
      // Like a kubelet: the end of the data precedes the reason.
      end(data);
      this.#sayData(errors, new TextEncoder().encode(answer));
      this.#say(this.#spdy.reset(errors));
      return;
    }
    this.pods.set(data, answer);
    this.#copy(answer, (bytes) => this.#sayData(data, bytes)).then(() => {
      end(data);
      end(errors);
    }, () => this.reset(data));
  }

  #beginV4(port: number): void {
    const answer = this.#options.connect(port);
    for (const channel of [0, 1]) this.say(Uint8Array.of(channel, port & 0xff, port >> 8));
    const close = () =>
      this.sayRaw(webSocketServerFrame(webSocketOpcodes.close, webSocketClosePayload(1000)))
        .then(() => this.#conn.closeWrite());
    if (typeof answer === "string") {
      this.say(Uint8Array.of(1, ...new TextEncoder().encode(answer)));
      close();
      return;
    }
    this.pods.set(0, answer);
    this.#copy(answer, (bytes) => this.say(Uint8Array.of(0, ...bytes))).then(close, () => this.close());
  }

  async #copy(pod: Conn, say: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    const into = new Uint8Array(32 * 1024);
    while (true) {
      const count = await pod.read(into);
      if (count === null) return;
      await say(into.subarray(0, count));
    }
  }

  #sayData(stream: number, bytes: Uint8Array): Promise<void> {
    return this.say(new Uint8Array([...this.#spdy.dataHead(stream, bytes.length), ...bytes]));
  }

  #say(bytes: Uint8Array | undefined): void {
    if (bytes) this.say(bytes);
  }
}

/** A pod's port: a function that connects, and the pod's ends of the connections. */
export class PodEnds {
  readonly ends: Conn[] = [];

  readonly connect = (): Conn => {
    const [inside, outside] = memoryPair();
    this.ends.push(outside);
    return inside;
  };

  get last(): Conn {
    const last = this.ends.at(-1);
    if (!last) throw new Error("no client connected");
    return last;
  }
}
