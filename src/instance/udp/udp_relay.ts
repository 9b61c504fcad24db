import { type DatagramPath, type Tally, Tasks, within } from "../../core/mod.ts";
import {
  asPosternError,
  describe,
  formatTarget,
  parseIp,
  PosternError,
  type Target,
} from "../../words/mod.ts";
import type { Datagrams } from "../../world/mod.ts";
import type { DatagramRelay, ListenerSettings, OpenDatagramRelay } from "../../listeners/mod.ts";
import { dialTimeout, type Plan, transportOf } from "../../plan/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import type { ConnectionRecord } from "../dials/connection_table.ts";
import { becauseAsked } from "../dns/meaning.ts";
import type { UdpRelays } from "./udp_relays.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type DatagramFlow = Awaited<ReturnType<DatagramPath["open"]>>;

export interface UdpRelayOptions {
  readonly request: Parameters<OpenDatagramRelay>[0];
  readonly reply: Parameters<OpenDatagramRelay>[1];
  readonly socket: Datagrams;
  readonly listener: ListenerSettings;
  readonly closed: () => void;
}

/** How many targets one client may use at once; the least recently used one is forgotten first. */
const mostFlows = 256;
/** How many targets may wait for their route or their name at once; the name may need the system's resolver. */
const mostOpening = 64;
/** How many datagrams may wait for one target, and the bytes that may wait for all targets of a client. */
const [mostWaiting, mostWaitingBytes] = [64, 256 * 1024];
/** How long a refused target stays refused while the plan stays the same, in ms. */
const retryAfter = 5_000;
/** How long a relay must be quiet to end while the instance stops, and how often this is checked, in ms. */
const [quiet, quietCheck] = [2_000, 500];

/**
 * The datagrams of one client. Each target is a flow with its route and its record; the flows through
 * one transport share a path. A flow follows the current plan: after a reload, its next datagram may take
 * another route.
 */
export class UdpRelay implements DatagramRelay {
  readonly socket: Datagrams;
  readonly options: UdpRelayOptions;
  readonly relays: UdpRelays;
  readonly paths: UdpPaths;
  readonly tasks: Tasks;
  /** The targets that are opening, and the bytes that wait for them. */
  opening = 0;
  waitingBytes = 0;
  readonly #flows = new Map<string, UdpFlow>();
  readonly #ended = Promise.withResolvers<void>();
  #usedAt: number;
  #isDraining = false;
  #isClosed = false;
  #hasLogged = false;
  #timer: Disposable | undefined;

  constructor(relays: UdpRelays, options: UdpRelayOptions) {
    const { clock, log } = relays.parts;
    this.relays = relays;
    this.options = options;
    this.socket = options.socket;
    this.tasks = new Tasks(
      undefined,
      (error) => log.error("instance.task_failed", { reason: describe(error) }),
    );
    this.paths = new UdpPaths(this);
    this.#usedAt = clock.now();
    this.#watchIdle();
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  send(asked: Target, data: Bytes): Promise<void> | void {
    this.used();
    const key = formatTarget(asked);
    let flow = this.#flows.get(key);
    if (!flow?.isCurrent()) {
      if (this.opening >= mostOpening) return this.dropped("full");
      flow?.end("done");
      if (this.#flows.size >= mostFlows) this.#oldest()?.end("done");
      flow = new UdpFlow(this, asked, () => this.#flows.delete(key));
      this.#flows.set(key, flow);
    }
    return flow.send(data);
  }

  dropped(why: string): void {
    this.relays.dropped("", why);
  }

  /** Counts datagrams that their route does not carry; logs the first of this client. */
  refused(asked: Target, { transport, because, error }: Refusal, count: number): void {
    for (let one = 0; one < count; one++) this.relays.refused(transport, error);
    if (this.#hasLogged) return;
    this.#hasLogged = true;
    const { client, user } = this.options.request;
    const fields = { client, user, target: formatTarget(asked), transport, because };
    this.relays.parts.log.info("udp.refused", { ...fields, reason: describe(error) });
  }

  used(): void {
    this.#usedAt = this.relays.parts.clock.now();
  }

  drain(): void {
    this.#isDraining = true;
    this.#watchIdle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#ended.resolve();
    this.tasks.abort(new PosternError("cancelled", "The client has left"));
    for (const flow of [...this.#flows.values()]) flow.end("done");
    try {
      await this.paths[Symbol.asyncDispose]();
      await this.tasks[Symbol.asyncDispose]();
      await this.socket[Symbol.asyncDispose]();
    } finally {
      if (!this.#isClosed) this.options.closed();
      this.#isClosed = true;
    }
  }

  #oldest(): UdpFlow | undefined {
    let oldest: UdpFlow | undefined;
    for (const flow of this.#flows.values()) if (!oldest || flow.usedAt < oldest.usedAt) oldest = flow;
    return oldest;
  }

  /** Ends idle flows, and the relay when nothing uses it. */
  #watchIdle(): void {
    this.#timer?.[Symbol.dispose]();
    const { clock, transports } = this.relays.parts;
    const { udpIdle } = transports.plan.limits;
    this.#timer = clock.after(this.#isDraining ? quietCheck : udpIdle / 4, () => {
      const now = clock.now();
      for (const flow of [...this.#flows.values()]) if (now - flow.usedAt >= udpIdle) flow.end("done");
      if (now - this.#usedAt >= (this.#isDraining ? quiet : udpIdle)) this.#ended.resolve();
      else this.#watchIdle();
    });
  }
}

/** Why a flow carries nothing. */
interface Refusal {
  readonly transport: string;
  readonly because: string;
  readonly error: PosternError;
}

/** The route of a flow. */
interface FlowRoute {
  readonly plan: Plan;
  readonly target: Target;
  readonly because: string;
  readonly built: BuiltTransport;
}

/** The datagrams between a client and one target. */
class UdpFlow {
  usedAt: number;
  readonly #relay: UdpRelay;
  readonly #asked: Target;
  readonly #forget: () => void;
  #plan: Plan;
  #route: FlowRoute | undefined;
  /** Holds datagrams until the flow is open or refused. */
  #waiting: Bytes[] | undefined = [];
  #carrier: DatagramFlow | undefined;
  #record: ConnectionRecord | undefined;
  #refusal: Refusal | undefined;
  #retryAt = Infinity;
  #isEnded = false;

  constructor(relay: UdpRelay, asked: Target, forget: () => void) {
    this.#relay = relay;
    this.#asked = asked;
    this.#forget = forget;
    this.#plan = this.#parts.transports.plan;
    this.usedAt = this.#parts.clock.now();
    relay.opening++;
    relay.tasks.spawn(async (signal) => {
      await this.#open(signal);
      relay.opening--;
    });
  }

  get #parts(): UdpRelays["parts"] {
    return this.#relay.relays.parts;
  }

  /** Whether the next datagram may use this flow: the plan is the same, or gives it the same route. */
  isCurrent(): boolean {
    const { transports: { plan, tables }, clock, dns } = this.#parts;
    if (this.#waiting) return true;
    if (this.#plan === plan) return clock.now() < this.#retryAt;
    const route = this.#route;
    if (!route || !this.#carrier) return false;
    const { target, failure } = dns.meaningOf(this.#asked);
    if (failure || target.host !== route.target.host) return false;
    const next = plan.router.route(target);
    if (next.held || tables.needsLook(target, next) || transportOf(plan, next) !== route.built) return false;
    try {
      this.#relay.relays.demandAllowed(target, this.#relay.options.listener, plan);
    } catch {
      // The new flow reports the reason.
      return false;
    }
    this.#plan = plan;
    return true;
  }

  send(data: Bytes): Promise<void> | void {
    this.usedAt = this.#parts.clock.now();
    if (this.#carrier) return this.#carry(this.#carrier, data);
    if (this.#refusal) return this.#relay.refused(this.#asked, this.#refusal, 1);
    const [relay, waiting] = [this.#relay, this.#waiting];
    if (!waiting || waiting.length >= mostWaiting || relay.waitingBytes + data.length > mostWaitingBytes) {
      return relay.dropped("full");
    }
    waiting.push(data);
    relay.waitingBytes += data.length;
  }

  /** Ends the flow; the next datagram to its target opens another one. */
  end(outcome: string, error?: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#endWaiting();
    this.#carrier?.[Symbol.dispose]();
    if (this.#route) this.#relay.paths.release(this.#route.built, this);
    this.#record?.finish(outcome, error);
    this.#forget();
  }

  async #open(signal: AbortSignal): Promise<void> {
    let [transport, because] = ["", "listener"];
    try {
      const route = this.#route = await this.#routed(signal, (taken) => ({ transport, because } = taken));
      const carrier = await this.#opened(route, signal);
      if (this.#isEnded) {
        carrier[Symbol.dispose]();
        this.#relay.paths.release(route.built, this);
        return this.#record?.finish("done");
      }
      const waiting = this.#endWaiting();
      this.#carrier = carrier;
      for (const data of waiting) if (!this.#isEnded) await this.#carry(carrier, data);
    } catch (error) {
      if (signal.aborted || this.#isEnded) return;
      const refusal = this.#refusal = { transport, because, error: asPosternError(error) };
      this.#retryAt = this.#parts.clock.now() + retryAfter;
      this.#relay.refused(this.#asked, refusal, this.#endWaiting().length);
    }
  }

  #endWaiting(): readonly Bytes[] {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const { length } of waiting) this.#relay.waitingBytes -= length;
    return waiting;
  }

  async #routed(
    signal: AbortSignal,
    taken: (route: { readonly transport: string; readonly because: string }) => void,
  ): Promise<FlowRoute> {
    const { dns, transports, clock } = this.#parts;
    const meaning = dns.meaningOf(this.#asked);
    const { target, failure } = meaning;
    if (failure) throw failure.error;
    this.#relay.relays.demandAllowed(target, this.#relay.options.listener, transports.plan);
    const { dial: ms } = transports.plan.limits;
    const { plan, route } = await within(
      { clock, ms, signal, error: () => dialTimeout(target, ms) },
      (signal) => transports.routed(target, { signal }),
    );
    signal.throwIfAborted();
    const because = becauseAsked(route.because, meaning);
    taken({ transport: route.transport, because });
    if (route.held) throw transports.tables.refusal(target, route.held);
    this.#plan = plan;
    return { plan, target, because, built: transportOf(plan, route) };
  }

  async #opened({ plan, target, because, built }: FlowRoute, signal: AbortSignal): Promise<DatagramFlow> {
    const { name, type, transport } = built;
    if (!transport.datagrams) {
      throw new PosternError("not_allowed", `Cannot relay UDP to ${formatTarget(target)}`, {
        reason: `the transport "${name}" (${type}) carries TCP only`,
        hint: "send UDP only to targets whose route is direct or a SOCKS5 proxy without via",
      });
    }
    const { connections, dials, clock } = this.#parts;
    const { client, user } = this.#relay.options.request;
    const { dial: ms } = plan.limits;
    try {
      const path = await this.#relay.paths.hold(built, this);
      const carrier = await within(
        { clock, ms, signal, error: () => dialTimeout(target, ms) },
        (signal) => path.open(target, { signal, received: (data, from) => this.#received(data, from) }),
      );
      dials.count(name);
      const request = { target, client, protocol: "socks5-udp", ...(user !== undefined && { user }) };
      this.#record = connections.begin(request, { transport: name, because }, built).holds({
        abort: (reason) => this.end("closed", reason),
        [Symbol.asyncDispose]: () => Promise.resolve(this.end("done")),
      });
      return carrier;
    } catch (error) {
      this.#relay.paths.release(built, this);
      if (!signal.aborted && !this.#isEnded) dials.count(name, error);
      throw error;
    }
  }

  async #carry(carrier: DatagramFlow, data: Bytes): Promise<void> {
    try {
      await carrier.send(data);
      this.#tally.up += data.length;
    } catch (error) {
      if (this.#isEnded) return;
      const { built: { name = "" } = {}, because = "" } = this.#route ?? {};
      this.#relay.refused(this.#asked, { transport: name, because, error: asPosternError(error) }, 1);
    }
  }

  async #received(data: Bytes, from: Target): Promise<void> {
    if (this.#isEnded) return;
    this.usedAt = this.#parts.clock.now();
    this.#relay.used();
    this.#tally.down += data.length;
    // The client knows an address that it asked; for a name, it learns the address.
    await this.#relay.options.reply(parseIp(this.#asked.host) ? this.#asked : from, data);
  }

  get #tally(): Tally {
    return this.#record?.tally ?? { up: 0, down: 0 };
  }
}

interface OpenPath {
  readonly opening: Promise<DatagramPath>;
  readonly flows: Set<UdpFlow>;
  /** Until when a failure counts, so that not each datagram tries again. */
  failedUntil?: number;
}

/** The paths of one client, one for each transport. A path closes with its last flow. */
class UdpPaths implements AsyncDisposable {
  readonly #relay: UdpRelay;
  readonly #paths = new Map<BuiltTransport, OpenPath>();
  readonly #closing = new Set<Promise<void>>();

  constructor(relay: UdpRelay) {
    this.#relay = relay;
  }

  async hold(built: BuiltTransport, flow: UdpFlow): Promise<DatagramPath> {
    const { clock } = this.#relay.relays.parts;
    let path = this.#paths.get(built);
    if (path?.failedUntil !== undefined && clock.now() >= path.failedUntil) path = undefined;
    if (!path) this.#paths.set(built, path = this.#open(built));
    path.flows.add(flow);
    return await path.opening;
  }

  release(built: BuiltTransport, flow: UdpFlow): void {
    const path = this.#paths.get(built);
    if (!path?.flows.delete(flow) || path.flows.size > 0 || path.failedUntil !== undefined) return;
    this.#paths.delete(built);
    this.#close(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const path of this.#paths.values()) this.#close(path);
    this.#paths.clear();
    await Promise.all(this.#closing);
  }

  #close({ opening }: OpenPath): void {
    const { log } = this.#relay.relays.parts;
    // The flows of a path that did not open have reported its failure.
    const failed = (error: unknown) => log.debug("udp.closed", { reason: describe(error) });
    const closing = opening.then((path) => path[Symbol.asyncDispose]()).catch(failed)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #open(built: BuiltTransport): OpenPath {
    const { clock, transports } = this.#relay.relays.parts;
    const { dial: ms } = transports.plan.limits;
    const { signal } = this.#relay.tasks;
    const error = () =>
      new PosternError(
        "timeout",
        `Cannot relay UDP through "${built.name}": no answer within ${ms / 1000} s`,
      );
    const opening = within({ clock, ms, signal, error }, async (signal) => {
      const { transport } = built;
      if (transport.datagrams) return await transport.datagrams({ signal });
      throw new PosternError("internal", `Cannot relay UDP through "${built.name}"`);
    });
    const path: OpenPath = { opening, flows: new Set() };
    const watch = async () => {
      try {
        const reason = await (await opening).ended;
        if (this.#paths.get(built) !== path) return;
        this.#paths.delete(built);
        for (const flow of [...path.flows]) flow.end("target_gone", reason);
        this.#close(path);
      } catch {
        // Each flow that waits for the path reports the failure.
        path.failedUntil = clock.now() + retryAfter;
      }
    };
    this.#relay.tasks.spawn(watch);
    return path;
  }
}
