import { asPosternError, describe, formatEndpoint, PosternError } from "../../words/mod.ts";
import {
  type Clock,
  type Conn,
  type Dialed,
  type DialRequest,
  type Log,
  Ring,
  type Tally,
} from "../../core/mod.ts";
import type { ConnectionInfo, EndedConnection } from "../../control/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import type { InstanceMetrics } from "../instance_metrics.ts";

/** The part of a route that a connection record keeps. */
export interface TakenRoute {
  readonly transport: string;
  readonly because: string;
}

export interface ConnectionTableOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: InstanceMetrics;
}

/** The live connections of an instance. Logs one line when a connection ends. */
export class ConnectionTable {
  readonly #options: ConnectionTableOptions;
  readonly #live = new Map<number, ConnectionRecord>();
  readonly #ended = new Ring<Ended>(mostEnded);
  #last = 0;
  #failed = 0;
  #idleSince: number;

  constructor(options: ConnectionTableOptions) {
    this.#options = options;
    this.#idleSince = options.clock.now();
  }

  /** Opens the record of a request before `built` dials. Refused requests have no transport. */
  begin(request: DialRequest, route: TakenRoute, built?: BuiltTransport): ConnectionRecord {
    const record = new ConnectionRecord(++this.#last, request, route, this.#options, (ended) => {
      this.#live.delete(record.id);
      if (!ended.hasConnected) this.#failed++;
      this.#idleSince = ended.endedAt;
      this.#ended.push(ended);
    });
    record.built = built;
    this.#live.set(record.id, record);
    return record;
  }

  get live(): Iterable<ConnectionRecord> {
    return this.#live.values();
  }

  get counts(): { open: number; total: number; failed: number } {
    return { open: this.#live.size, total: this.#last, failed: this.#failed };
  }

  list(): ConnectionInfo[] {
    return [...this.#live.values()].map((record) => record.info());
  }

  /** The number of connections that have ended so far. */
  get endedCount(): number {
    return this.#ended.count;
  }

  /** The most recently ended connections, oldest first, without the first `count` of all ended ones. */
  ended(count = 0): EndedConnection[] {
    const { clock } = this.#options;
    return this.#ended.since(count).map((ended) => endedInfo(ended, clock));
  }

  /** Closes a connection; returns false if no connection has this id. */
  close(id: number): boolean {
    const record = this.#live.get(id);
    record?.drop(new PosternError("cancelled", "Closed on request"));
    return record !== undefined;
  }

  /** Resolves when the connections that are open now have ended. */
  async idle(): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ ended }) => ended));
  }

  closeAll(reason: unknown): void {
    for (const record of [...this.#live.values()]) record.drop(reason);
  }

  /** When the last connection ended; undefined while one is open. */
  get idleSince(): number | undefined {
    return this.#live.size === 0 ? this.#idleSince : undefined;
  }
}

/** The number of ended connections to keep. */
const mostEnded = 200;

/** The kept data of an ended connection. */
interface Ended {
  readonly id: number;
  readonly request: DialRequest;
  readonly route: TakenRoute;
  readonly tally: Readonly<Tally>;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly hasConnected: boolean;
  readonly outcome: string;
  readonly reason: string | undefined;
}

function endedInfo(ended: Ended, clock: Clock): EndedConnection {
  const { endedAt, outcome, reason } = ended;
  const ago = clock.now() - endedAt;
  return {
    ...infoOf(ended, clock, endedAt),
    endedAt: new Date(clock.date().getTime() - ago).toISOString(),
    outcome,
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Describes a connection at a moment of the clock. */
function infoOf(
  { id, request, route, tally, startedAt }: Pick<Ended, "id" | "request" | "route" | "tally" | "startedAt">,
  clock: Clock,
  at: number,
): ConnectionInfo {
  const { client, protocol, user, forward } = request;
  return {
    id,
    client,
    protocol,
    target: shownTarget(request),
    transport: route.transport,
    because: route.because,
    startedAt: new Date(Math.round(clock.date().getTime() - (clock.now() - startedAt))).toISOString(),
    ageMs: Math.round(at - startedAt),
    up: tally.up,
    down: tally.down,
    ...(user === undefined ? {} : { user }),
    ...(forward === undefined ? {} : { forward }),
  };
}

function shownTarget({ target, socket }: DialRequest): string {
  return formatEndpoint(socket === undefined ? target : { path: socket });
}

/** The carrier of a request's bytes. */
type Held = Pick<Conn, "abort"> & AsyncDisposable;

/** One request and its connection. */
export class ConnectionRecord implements Dialed {
  readonly id: number;
  readonly tally: Tally = { up: 0, down: 0 };
  /** The transport that reaches the target. */
  built: BuiltTransport | undefined;
  readonly #request: DialRequest;
  #route: TakenRoute;
  readonly #options: ConnectionTableOptions;
  readonly #ended: (ended: Ended) => void;
  readonly #startedAt: number;
  #dialling: AbortController | undefined = new AbortController();
  #conn: Conn | undefined;
  /** The connection, or the carrier of datagrams. */
  #held: Held | undefined;
  #isFinished = false;
  #dropped: { reason: unknown } | undefined;
  #onEnd: (() => void)[] | undefined;

  constructor(
    id: number,
    request: DialRequest,
    route: TakenRoute,
    options: ConnectionTableOptions,
    ended: (ended: Ended) => void,
  ) {
    this.id = id;
    this.#request = request;
    this.#route = route;
    this.#options = options;
    this.#ended = ended;
    this.#startedAt = options.clock.now();
  }

  get transport(): string {
    return this.#route.transport;
  }

  /** Replaces the first route: a cluster has answered since then. */
  takes(route: TakenRoute, built: BuiltTransport | undefined): void {
    this.#route = route;
    this.built = built;
  }

  /** Aborts the dial when the connection is dropped before it is established. */
  get dialling(): AbortController {
    return this.#dialling ??= new AbortController();
  }

  get conn(): Conn {
    if (!this.#conn) throw new PosternError("internal", "Cannot use a connection before it is dialed");
    return this.#conn;
  }

  connected(conn: Conn): this {
    this.#conn = conn;
    return this.holds(conn);
  }

  /** Ends the dial with a carrier that is no connection. */
  holds(held: Held): this {
    this.#held = held;
    this.#dialling = undefined;
    this.#options.metrics.dials.observe((this.#options.clock.now() - this.#startedAt) / 1000, this.transport);
    return this;
  }

  get ended(): Promise<void> {
    return this.#isFinished
      ? Promise.resolve()
      : new Promise((resolve) => void (this.#onEnd ??= []).push(resolve));
  }

  drop(reason: unknown): void {
    this.#dropped ??= { reason };
    if (this.#held) this.#held.abort(reason);
    else this.dialling.abort(reason);
  }

  finish(end: string, cause?: unknown): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#held?.[Symbol.asyncDispose]().then(undefined, (error: unknown) => {
      this.#options.log.debug("conn.close_failed", { conn: this.id, reason: describe(error) });
    });
    const outcome = this.#dropped ? "closed" : end;
    const error = this.#dropped ? this.#dropped.reason : cause;
    const { clock, log, metrics } = this.#options;
    const { client, protocol, user, forward } = this.#request;
    const { transport, because } = this.#route;
    const endedAt = clock.now();
    const ms = endedAt - this.#startedAt;
    const reason = error === undefined ? undefined : describe(error);
    metrics.connections.add(1, transport, outcome);
    metrics.durations.observe(ms / 1000, transport);
    metrics.moved(transport, this.tally);
    this.#ended({
      id: this.id,
      request: this.#request,
      route: this.#route,
      tally: this.tally,
      startedAt: this.#startedAt,
      endedAt,
      hasConnected: this.#held !== undefined,
      outcome,
      reason,
    });
    for (const tell of this.#onEnd ?? []) tell();
    if (!log.writes("info")) return;
    const { up, down } = this.tally;
    log.info("conn.done", {
      conn: this.id,
      client,
      protocol,
      user,
      forward,
      target: shownTarget(this.#request),
      transport,
      because,
      ms: Math.round(ms),
      up,
      down,
      outcome,
      reason,
    });
  }

  /** Ends the record after a failed dial. */
  failed(error: unknown): void {
    this.finish(asPosternError(error).code, error);
  }

  /**
   * Whether the connection runs through one of these transports. A dial in progress may still use any of
   * them.
   */
  needs(transports: ReadonlySet<BuiltTransport>): boolean {
    if (this.isDialling) return true;
    for (let one = this.built; one; one = one.below) if (transports.has(one)) return true;
    return false;
  }

  /** Whether the target is not connected yet. */
  get isDialling(): boolean {
    return this.#held === undefined;
  }

  info(): ConnectionInfo {
    const { clock } = this.#options;
    const known = {
      id: this.id,
      request: this.#request,
      route: this.#route,
      tally: this.tally,
      startedAt: this.#startedAt,
    };
    return { ...infoOf(known, clock, clock.now()), ...(this.isDialling ? { isDialling: true } : {}) };
  }
}
