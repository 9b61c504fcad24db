import type { PulseTimes } from "../../mux/mod.ts";

/** What bounds the sessions of a pool. Times in milliseconds. */
export interface ForwardLimits {
  /** Without a byte, after something was said, until the server is asked. */
  readonly quiet: number;
  /** Without a byte after that question until the session counts as gone. */
  readonly patience: number;
  /** Of silence until the server is asked though nothing was said. */
  readonly keepalive: number;
  /** For a session to open. */
  readonly opening: number;
  /** A session without forwards is closed after so long. */
  readonly idle: number;
  /** So many sessions without forwards are kept for that time, for all pods together. */
  readonly idleSessions: number;
  /** A session as old takes no more forwards: some load balancers cut what is an hour old. */
  readonly age: number;
  /** Sessions for one pod, besides those in which somebody does not read. */
  readonly sessions: number;
  /** Forwards in one session. */
  readonly streams: number;
  /** Connections for one pod where each forward has its own. */
  readonly connections: number;
}

/** After a sleep, as often as there is one, the answer to the last question may not have been heard. */
export function pulseTimes({ quiet, patience, keepalive }: ForwardLimits): PulseTimes {
  return { quiet, patience, keepalive, stall: quiet, repeats: Infinity };
}

/** What is usual. */
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
