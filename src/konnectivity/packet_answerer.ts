import { type Clock, type Conn, Tasks } from "../core/mod.ts";
import { parseTarget, PosternError, type Target } from "../words/mod.ts";
import type { Packet } from "./packets.ts";
import { dialFailureText } from "./dial_text.ts";
import type { PacketStream } from "./packet_stream.ts";
import { PacketTunnel, type TunnelHost } from "./packet_tunnel.ts";

/** Connects to a target and returns a function that serves the peer's connection until it ends. */
export type Answer = (
  target: Target,
  options: { signal: AbortSignal },
) => Promise<(asker: Conn) => Promise<void>>;

export interface PacketAnswererOptions {
  readonly clock: Clock;
  readonly answer: Answer;
  /** The maximum number of open and pending connections. */
  readonly most: number;
  readonly isShared: boolean;
  /** Called with errors that the protocol cannot express. */
  readonly onError: (error: unknown) => void;
}

/** The answering side of a Konnectivity stream: an agent for its server, or a server for a client. */
export class PacketAnswerer implements TunnelHost {
  readonly side = "answering";
  readonly stream: PacketStream;
  readonly clock: Clock;
  readonly isShared: boolean;
  readonly #options: PacketAnswererOptions;
  readonly #tunnels = new Map<bigint, PacketTunnel>();
  /** Pending dials by the peer's random id. */
  readonly #dialing = new Map<bigint, AbortController>();
  readonly #idle: (() => void)[] = [];
  /** The number of unsent replies that no code awaits, and the callback that resumes reading. */
  #answers = 0;
  #mayTake: (() => void) | undefined;
  #lastId = 0n;

  constructor(stream: PacketStream, options: PacketAnswererOptions) {
    this.stream = stream;
    this.clock = options.clock;
    this.isShared = options.isShared;
    this.#options = options;
  }

  /** The number of open and pending connections. */
  get size(): number {
    return this.#tunnels.size + this.#dialing.size;
  }

  /** Resolves when no connection is left. */
  get idle(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Serves the stream until it ends, then drops the remaining connections. Throws the stream's failure. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    await using tasks = new Tasks(signal, this.#options.onError);
    let failure: unknown;
    this.stream.grpc.exchange.over.then(() => this.#tunnels.forEach((tunnel) => tunnel.takeLeave()));
    try {
      for (let packet; (packet = await this.stream.receive());) {
        const wait = this.#take(packet, tasks);
        if (wait) await this.stream.whileFull(wait);
        // Do not queue more replies than the peer reads.
        if (this.#answers > mostAnswers) await this.stream.whileFull(this.#fewerAnswers());
      }
    } catch (error) {
      failure = error;
    }
    const why = failure ??
      new PosternError("unreachable", `${this.stream.peer} ended the stream`, { detail: "reset" });
    for (const controller of this.#dialing.values()) controller.abort(why);
    for (const tunnel of this.#tunnels.values()) tunnel.takeFailure(why);
    this.#tunnels.clear();
    this.#told();
    if (failure !== undefined) throw failure;
  }

  forget(tunnel: PacketTunnel): void {
    this.#tunnels.delete(tunnel.connectId);
    this.#told();
  }

  #take(packet: Packet, tasks: Tasks): void | Promise<void> {
    switch (packet.type) {
      case "dialRequest":
        return this.#begin(packet, tasks);
      case "closeDial":
        return this.#dialing.get(packet.random)?.abort(
          new PosternError("cancelled", "The dial was canceled"),
        );
      case "data": {
        const tunnel = this.#tunnels.get(packet.connectId);
        return tunnel ? tunnel.takeData(packet.data) : this.#refuse(packet.connectId);
      }
      case "window":
        return this.#tunnels.get(packet.connectId)?.onWindow(packet.bytes);
      case "end":
        return this.#tunnels.get(packet.connectId)?.onEnd();
      case "closeRequest": {
        const tunnel = this.#tunnels.get(packet.connectId);
        tunnel?.takeClose("");
        const error = tunnel ? "" : "unknown connection";
        return this.#say({ type: "closeResponse", connectId: packet.connectId, error });
      }
      case "closeResponse":
        return this.#tunnels.get(packet.connectId)?.takeClose(packet.error);
      case "dialResponse":
      case "drain":
      case "unknown":
        return;
    }
  }

  #begin(request: Packet & { type: "dialRequest" }, tasks: Tasks): void {
    const { protocol, address, random } = request;
    const refuse = (error: string) => this.#say({ type: "dialResponse", error, connectId: 0n, random });
    if (protocol !== "tcp" && protocol !== "") {
      return refuse(`protocol ${JSON.stringify(protocol)} is not supported`);
    }
    if (this.#dialing.has(random)) return refuse("the random id of this dial is in use");
    if (this.size >= this.#options.most) return refuse("too many connections");
    let target: Target;
    try {
      target = parseTarget(address);
    } catch (error) {
      return refuse(dialFailureText(address, error));
    }
    const controller = new AbortController();
    this.#dialing.set(random, controller);
    tasks.spawn(async (signal) => {
      let serve: Awaited<ReturnType<Answer>>;
      try {
        serve = await this.#options.answer(target, { signal: AbortSignal.any([signal, controller.signal]) });
      } catch (error) {
        this.#dialing.delete(random);
        this.#told();
        if (!controller.signal.aborted) refuse(dialFailureText(address, error));
        return;
      }
      this.#dialing.delete(random);
      const connectId = ++this.#lastId;
      const tunnel = new PacketTunnel(connectId, this, this.stream.peer);
      this.#tunnels.set(connectId, tunnel);
      // Send this before any data from the target.
      await this.stream.send({ type: "dialResponse", error: "", connectId, random }).catch((error) => {
        tunnel.takeFailure(error);
      });
      if (controller.signal.aborted) tunnel.abort(controller.signal.reason);
      await serve(tunnel);
    });
  }

  #refuse(connectId: bigint): void {
    this.#say({ type: "closeResponse", connectId, error: "unknown connection" });
  }

  /** Sends a reply without waiting; the stream's reader notices a failure. */
  #say(packet: Exclude<Packet, { type: "unknown" }>): void {
    this.#answers++;
    this.stream.send(packet).catch(() => {}).finally(() => {
      this.#answers--;
      if (this.#answers <= mostAnswers / 2) this.#mayTake?.();
    });
  }

  #fewerAnswers(): Promise<void> {
    return new Promise((resolve) => this.#mayTake = resolve);
  }

  #told(): void {
    if (this.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

const mostAnswers = 1000;
