import type { PulseTimes } from "../../mux/mod.ts";

/** The limits of a pool's sessions. Times are in ms. */
export interface ForwardLimits {
  /** Silence after data was sent, until postern pings the server. */
  readonly quiet: number;
  /** Silence after a ping, until the session counts as dead. */
  readonly patience: number;
  /** Silence without data sent, until postern pings the server. */
  readonly keepalive: number;
  /** Timeout for opening a session. */
  readonly opening: number;
  /** How long an idle session stays open. */
  readonly idle: number;
  /** Maximum number of idle sessions, for all pods together. */
  readonly idleSessions: number;
  /** A session of this age accepts no more forwards: some load balancers cut connections after an hour. */
  readonly age: number;
  /** Sessions per pod, in addition to those blocked by slow readers. */
  readonly sessions: number;
  /** Forwards per session. */
  readonly streams: number;
  /** Connections per pod, if each forward needs a separate one. */
  readonly connections: number;
}

/** Pings repeat without limit: the response to the last ping may be lost in every sleep. */
export function pulseTimes({ quiet, patience, keepalive }: ForwardLimits): PulseTimes {
  return { quiet, patience, keepalive, stall: quiet, repeats: Infinity };
}

export const usualForwardLimits: ForwardLimits = {
  quiet: 3_000,
  patience: 12_000,
  keepalive: 30_000,
  opening: 30_000,
  idle: 120_000,
  idleSessions: 16,
  age: 30 * 60_000,
  sessions: 2,
  streams: 1024,
  connections: 64,
};
