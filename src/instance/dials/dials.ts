import {
  type Clock,
  Deadlines,
  type Dial,
  type Dialed,
  type DialRequest,
  whenAborted,
} from "../../core/mod.ts";
import { formatTarget, PosternError, type Target } from "../../words/mod.ts";
import { errorInfo, type ExplanationInfo, type TransportState } from "../../control/mod.ts";
import type { ListenerSettings } from "../../listeners/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import type { ClusterTables } from "../clusters/cluster_tables.ts";
import type { DnsHelper } from "../dns/dns_helper.ts";
import { allowedBy, explanationOf, type Plan, transportOf } from "../../plan/mod.ts";
import type { ConnectionTable, TakenRoute } from "./connection_table.ts";
import { DialCounts } from "./dial_counts.ts";
import { dialTimeout, tryDial } from "./try_dial.ts";

export interface DialsParts {
  readonly clock: Clock;
  readonly connections: ConnectionTable;
  readonly dns: DnsHelper;
  readonly tables: ClusterTables;
  /** The plan in force. */
  readonly plan: () => Plan;
  readonly hasOpened: () => boolean;
}

/** What clients of a door ask for: which way it goes, and the connection there. */
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

  /** What `status` shows of a transport. */
  state(built: BuiltTransport): TransportState {
    return this.#counts.state(built);
  }

  /** How the clients of a listener dial: some serve certain targets only. */
  dialOf(listener: ListenerSettings): Dial {
    const allows = allowedBy(listener);
    if (!allows) return (request, options) => this.dial(request, options);
    return (request, options) => {
      if (allows(this.#parts.dns.meaningOf(request.target).target)) return this.dial(request, options);
      const error = new PosternError(
        "not_allowed",
        `Cannot reach ${formatTarget(request.target)}: this listener is not for it`,
        { hint: "see listen … only in the configuration" },
      );
      return Promise.reject(this.#refused(request, { because: "listener", error }));
    };
  }

  /** What a client asks for, routed, dialled in time, recorded. */
  async dial(
    request: DialRequest,
    { signal }: { signal: AbortSignal },
  ): Promise<Dialed> {
    const { connections, dns, tables } = this.#parts;
    const { target, by, error: meaningless } = dns.meaningOf(request.target);
    if (meaningless) throw this.#refused(request, { because: "dns.fakeRange", error: meaningless });
    let plan = this.#parts.plan();
    let route = plan.router.route(target);
    const wayOf = (): BuiltTransport | undefined => plan.transports.byName.get(route.transport);
    const record = connections.begin({ ...request, target }, asAsked(route, by), wayOf());
    const { dialling } = record;
    const cancel = () => dialling.abort(signal.reason);
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const { dial: limit } = plan.limits;
    const deadline = this.#deadlines.add(limit, () => dialling.abort(dialTimeout(target, limit)));
    try {
      if (tables.needsLook(target, route)) {
        route = await tables.route(target, () => (plan = this.#parts.plan()).router, dialling);
        record.takes(asAsked(route, by), wayOf());
        signal.throwIfAborted();
        if (route.held) throw tables.refusal(target, route.held);
      }
      const { transport } = transportOf(plan, route);
      const conn = await transport.dial(target, { signal: dialling.signal });
      if (dialling.signal.aborted) {
        conn.abort(dialling.signal.reason);
        throw dialling.signal.reason;
      }
      this.#counts.add(route.transport);
      return record.connected(conn);
    } catch (error) {
      // A client that leaves says nothing about the transport, and what is held was not dialled.
      if (!route.held) this.#counts.add(route.transport, signal.aborted ? undefined : error);
      record.failed(error);
      throw error;
    } finally {
      deadline[Symbol.dispose]();
      signal.removeEventListener("abort", cancel);
    }
  }

  /** What a target means: a door that is not opened looks into the file of one that was. */
  async meaningOf(target: Target): Promise<ReturnType<DnsHelper["meaningOf"]>> {
    const { dns, plan, hasOpened } = this.#parts;
    if (!hasOpened()) await dns.look(plan().config.settings);
    return dns.meaningOf(target);
  }

  /** Where a target would go, and with `dial` whether it can be reached. */
  async explain(
    target: Target,
    { dial, signal }: { dial: boolean; signal: AbortSignal },
  ): Promise<ExplanationInfo> {
    signal.throwIfAborted();
    const { clock, tables } = this.#parts;
    const { target: meant, by, error } = await this.meaningOf(target);
    let plan = this.#parts.plan();
    if (error) throw error;
    const { dial: limit } = plan.limits;
    const begun = clock.now();
    const patience = new AbortController();
    using _stop = whenAborted(signal, () => patience.abort(signal.reason));
    using _deadline = clock.after(limit, () => patience.abort(dialTimeout(meant, limit)));
    const route = await tables.route(meant, () => (plan = this.#parts.plan()).router, patience);
    signal.throwIfAborted();
    const explained = explanationOf(plan, meant, route);
    const explanation = { ...explained, because: asAsked(explained, by).because };
    if (route.held) {
      const held = errorInfo(tables.refusal(meant, route.held));
      return {
        ...explanation,
        held,
        ...(dial && { dial: { ms: clock.now() - begun, steps: [], error: held } }),
      };
    }
    if (!dial) return explanation;
    const { transport } = transportOf(plan, route);
    const report = await tryDial(transport, meant, { clock, limit, signal });
    return { ...explanation, dial: report };
  }

  /** Leaves the line in the log of a request that is not dialled. */
  #refused(request: DialRequest, { because, error }: { because: string; error: PosternError }): PosternError {
    this.#parts.connections.begin(request, { transport: "reject", because }).failed(error);
    return error;
  }
}

/** A route with the address that was asked for, where it stands for a name. */
function asAsked({ transport, because }: TakenRoute, by: string | undefined): TakenRoute {
  return { transport, because: by === undefined ? because : `${because}, asked for as ${by}` };
}
