import {
  type Clock,
  type Conn,
  Deadlines,
  type Dial,
  type Dialed,
  type DialRequest,
} from "../../core/mod.ts";
import { type Endpoint, formatTarget, PosternError, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { TransportState } from "../../control/mod.ts";
import type { ForwardSettings, ListenerSettings } from "../../listeners/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import { allowedBy, dialTimeout, transportOf, type Transports } from "../../plan/mod.ts";
import type { DnsHelper } from "../dns/dns_helper.ts";
import { becauseAsked } from "../dns/meaning.ts";
import type { ConnectionRecord, ConnectionTable } from "./connection_table.ts";
import { DialCounts } from "./dial_counts.ts";
import { connectToSocket } from "./socket_target.ts";

export interface DialsParts {
  readonly world: Pick<World, "files" | "places">;
  readonly clock: Clock;
  readonly connections: ConnectionTable;
  readonly dns: DnsHelper;
  readonly transports: Transports;
}

/** Routes and dials the requests of an instance's clients. */
export class Dials implements Disposable {
  readonly #parts: DialsParts;
  readonly #deadlines: Deadlines;
  readonly #counts = new DialCounts();

  constructor(parts: DialsParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock, { keepsTimers: true });
  }

  [Symbol.dispose](): void {
    this.#deadlines[Symbol.dispose]();
  }

  state(built: BuiltTransport): TransportState {
    return this.#counts.state(built);
  }

  /** Counts a dial of a transport, and its failure if there is one. */
  count(transport: string, error?: unknown): void {
    this.#counts.add(transport, error);
  }

  /** The dial function of a listener; `only` restricts its targets. */
  dialOf(listener: ListenerSettings | ForwardSettings): Dial {
    const allows = allowedBy(listener);
    if ("target" in listener && "path" in listener.target) {
      const { path } = listener.target;
      return (request, options) => this.#dialSocket(request, path, options);
    }
    if (!allows) return (request, options) => this.dial(request, options);
    return (request, options) => {
      if (allows(this.#parts.dns.meaningOf(request.target).target)) return this.dial(request, options);
      const error = notAllowed(request.target);
      return Promise.reject(this.#refused(request, { because: "listener", error }));
    };
  }

  /** Routes, dials and records a request, within the dial timeout. */
  async dial(
    request: DialRequest,
    { signal }: { signal: AbortSignal },
  ): Promise<Dialed> {
    const { connections, dns, transports } = this.#parts;
    const meaning = dns.meaningOf(request.target);
    const { target, failure } = meaning;
    if (failure) throw this.#refused(request, { because: failure.range, error: failure.error });
    let { plan } = transports;
    let route = plan.router.route(target);
    const taken = () => ({ transport: route.transport, because: becauseAsked(route.because, meaning) });
    const builtOf = (): BuiltTransport | undefined => plan.transports.byName.get(route.transport);
    const record = connections.begin({ ...request, target }, taken(), builtOf());
    const work = async (dialling: AbortController) => {
      if (transports.tables.needsLook(target, route)) {
        ({ plan, route } = await transports.routed(target, dialling));
        record.takes(taken(), builtOf());
        signal.throwIfAborted();
        if (route.held) throw transports.tables.refusal(target, route.held);
      }
      if (request.hops) await transports.demandNoHop({ plan, route }, { target, hops: request.hops });
      const { transport } = transportOf(plan, route);
      return await transport.dial(target, { signal: dialling.signal });
    };
    try {
      const dialed = await this.#recorded(record, { to: target, signal }, work);
      this.#counts.add(route.transport);
      return dialed;
    } catch (error) {
      // If the client leaves, the transport did not fail; a held target was never dialed.
      if (!route.held) this.#counts.add(route.transport, signal.aborted ? undefined : error);
      throw error;
    }
  }

  /** Connects a forward to a socket of this user, which no rule routes. */
  async #dialSocket(
    request: DialRequest,
    path: string,
    { signal }: { signal: AbortSignal },
  ): Promise<Dialed> {
    const { connections, world, transports } = this.#parts;
    const record = connections.begin(request, { transport: "direct", because: "socket of a forward" });
    const parts = { ...world, network: transports.deps.network };
    return await this.#recorded(
      record,
      { to: { path }, signal },
      ({ signal }) => connectToSocket(parts, path, { signal }),
    );
  }

  /** Runs a dial within the dial timeout, until the client leaves or the record is dropped. */
  async #recorded(
    record: ConnectionRecord,
    { to, signal }: { readonly to: Endpoint; readonly signal: AbortSignal },
    work: (dialling: AbortController) => Promise<Conn>,
  ): Promise<Dialed> {
    const { dialling } = record;
    const cancel = () => dialling.abort(signal.reason);
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const { dial: limit } = this.#parts.transports.plan.limits;
    const deadline = this.#deadlines.add(limit, () => dialling.abort(dialTimeout(to, limit)));
    try {
      const conn = await work(dialling);
      if (dialling.signal.aborted) {
        conn.abort(dialling.signal.reason);
        throw dialling.signal.reason;
      }
      return record.connected(conn);
    } catch (error) {
      record.failed(error);
      throw error;
    } finally {
      deadline[Symbol.dispose]();
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Logs a request that is not dialed. */
  #refused(request: DialRequest, { because, error }: { because: string; error: PosternError }): PosternError {
    this.#parts.connections.begin(request, { transport: "reject", because }).failed(error);
    return error;
  }
}

/** The error for a target that the listener's "only" does not contain. */
export function notAllowed(target: Target): PosternError {
  return new PosternError(
    "not_allowed",
    `Cannot reach ${formatTarget(target)}: this listener does not allow that target`,
    { hint: 'use another listener, or add the target to its "only" list' },
  );
}
