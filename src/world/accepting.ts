import { type Clock, type Conn, type Log, pause, whenAborted } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { Listening } from "./network.ts";

export interface AcceptingOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells a client that there is no room for it, and drops it. */
  readonly turnAway?: (client: Conn) => Promise<void>;
  /** Drops a client that holds a descriptor and has not said what it wants; false where there is none. */
  readonly makeRoom?: () => boolean;
}

/** How many clients at a time are turned away with spare descriptors, so that other sockets have some too. */
const mostOnSpares = 4;

/**
 * The clients of a socket until it is closed or the signal ends. Running out of descriptors is survived: spare ones
 * serve to tell clients that there is no room, then those that have not said what they want give way. It says so once
 * a second.
 */
export async function* accepting(
  listening: Listening,
  { signal, clock, log, turnAway, makeRoom }: AcceptingOptions,
): AsyncGenerator<Conn> {
  using _close = whenAborted(signal, () => listening.close());
  let saidAt = -Infinity;
  const turningAway = new Set<Promise<void>>();
  try {
    while (!signal.aborted) {
      let conn: Conn | undefined;
      let isSpare = false;
      try {
        conn = await listening.accept();
      } catch (error) {
        if (clock.now() - saidAt >= 1000) {
          saidAt = clock.now();
          log.error("instance.accept_failed", { reason: describe(error) });
        }
        const isFull = error instanceof PosternError && error.detail === "overloaded";
        isSpare = isFull && turnAway !== undefined && turningAway.size < mostOnSpares &&
          listening.spendSpare?.() === true;
        if (!isSpare) {
          if (isFull && makeRoom?.()) await clock.turn();
          else await pause(clock, 50, { signal }).catch(() => {});
          listening.keepSpare?.();
          continue;
        }
        conn = await listening.accept().catch(() => undefined);
      }
      // The spare one may be back by now: then there is room again.
      if (isSpare && listening.keepSpare?.() !== true) {
        const turned = Promise.resolve(conn && turnAway?.(conn))
          .catch((error) => log.debug("client.gone", { reason: describe(error) }))
          .finally(() => {
            turningAway.delete(turned);
            listening.keepSpare?.();
          });
        turningAway.add(turned);
      } else if (conn) yield conn;
      else if (!isSpare) return;
    }
  } finally {
    await Promise.all(turningAway);
  }
}
