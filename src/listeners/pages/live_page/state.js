/** @typedef {import("../../../control/instance_state.ts").WatchUpdate} Watched */
/** @typedef {import("../../../control/instance_state.ts").WatchedWhole} Whole */
/** @typedef {import("../../../control/instance_state.ts").WatchedStep} Step */
/** @typedef {import("../../../control/instance_state.ts").Status} Status */
/** @typedef {import("../../../control/instance_state.ts").LoggedLine} Line */
/** @typedef {import("../../../control/instance_state.ts").TrafficSample} Sample */
/** @typedef {import("../../../control/instance_state.ts").TransportState} Transport */
/** @typedef {NonNullable<Transport["hops"]>[number]} Hop */
/** @typedef {NonNullable<Transport["clusters"]>[number]} Cluster */
/** @typedef {import("../../../control/instance_state.ts").ConnectionInfo} Told */
/** @typedef {import("../../../control/instance_state.ts").EndedConnection} Ended */
/**
 * A connection in the page: its last update, its rates, and its start time.
 * @typedef {{ -readonly [Key in keyof Told]: Told[Key] } & Partial<Pick<Ended, "endedAt" | "outcome" | "reason">> & { upRate?: number, downRate?: number, began?: number }} Connection
 */

const mostEnded = 200;
const mostLines = 300;
const mostTraffic = 300;

/** The page's copy of the instance's state, kept up to date by every step. */
export class State {
  /** @type {Status | undefined} */
  status;
  /** @type {Map<number, Connection>} */
  live = new Map();
  /** Newest last. @type {readonly Connection[]} */
  ended = [];
  /** @type {readonly Line[]} */
  log = [];
  /** @type {readonly Sample[]} */
  traffic = [];
  /** The time on the instance, in ms. */
  now = 0;
  every = 1000;
  /** Connections with traffic, whose rates become 0 in the next step without any. @type {Set<Connection>} */
  #moving = new Set();

  /** Applies an update of the instance. */
  take(/** @type {Watched} */ message) {
    const before = this.now;
    this.now = Date.parse(message.time);
    if (message.kind === "whole") this.#replace(message);
    else this.#change(message, Math.max(1, this.now - before));
  }

  #replace(/** @type {Whole} */ { every, status, live, ended, log, traffic }) {
    this.every = every;
    this.status = status;
    const known = this.live;
    this.live = new Map();
    this.#moving.clear();
    // A connection keeps its object, which identifies it in the table.
    for (const info of live) this.#add(info, known.get(info.id));
    this.ended = ended;
    this.log = log;
    this.traffic = traffic;
  }

  #change(
    /** @type {Step} */ { counts, status, begun, moved, gone, ended, log, traffic },
    /** @type {number} */ ms,
  ) {
    if (status) this.status = status;
    else if (this.status) this.status = { ...this.status, ...counts };
    for (const connection of this.#moving) connection.upRate = connection.downRate = 0;
    this.#moving.clear();
    for (const info of begun) this.#add(info, this.live.get(info.id));
    for (const [id, up, down] of moved) this.#move(id, up, down, 1000 / ms);
    for (const id of gone) this.live.delete(id);
    const lastEnded = new Set(this.ended.map(({ id }) => id));
    this.ended = [...this.ended, ...ended.filter(({ id }) => !lastEnded.has(id))].slice(-mostEnded);
    const lastLine = this.log.at(-1)?.number ?? 0;
    this.log = [...this.log, ...log.filter(({ number }) => number > lastLine)].slice(-mostLines);
    this.traffic = [...this.traffic, traffic].slice(-mostTraffic);
  }

  #add(/** @type {Told} */ told, /** @type {Connection | undefined} */ known) {
    /** @type {Connection} */
    const connection = known ?? { ...told };
    if (!told.isDialling) delete connection.isDialling;
    connection.up = told.up;
    connection.down = told.down;
    connection.upRate ??= 0;
    connection.downRate ??= 0;
    connection.began = Date.parse(told.startedAt);
    this.live.set(told.id, connection);
  }

  #move(
    /** @type {number} */ id,
    /** @type {number} */ up,
    /** @type {number} */ down,
    /** @type {number} */ perSecond,
  ) {
    const connection = this.live.get(id);
    if (!connection) return;
    connection.upRate = (up - connection.up) * perSecond;
    connection.downRate = (down - connection.down) * perSecond;
    connection.up = up;
    connection.down = down;
    this.#moving.add(connection);
  }
}

/** The transports on the path to one, nearest first: `jump`, `lab`. */
export function pathTo(/** @type {string} */ name, /** @type {readonly Transport[]} */ transports) {
  const path = [name];
  let via = transports.find((one) => one.name === name)?.via;
  while (via !== undefined && !path.includes(via)) {
    path.unshift(via);
    const next = via;
    via = transports.find((one) => one.name === next)?.via;
  }
  return path;
}
