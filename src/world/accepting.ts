import { type Clock, type Conn, type Log, pause, whenAborted } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { Listening } from "./network.ts";

export interface AcceptingOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells a client that the instance is full, and drops it. */
  readonly turnAway?: (client: Conn) => Promise<void>;
  /** Drops a client that has not sent its request yet; false if there is none. */
  readonly makeRoom?: () => boolean;
}

/** How many clients may use spare descriptors at once, so that other sockets get some too. */
const mostOnSpares = 4;

/**
 * The clients of a socket until it is closed or the signal aborts. Survives a lack of descriptors: spare ones
 * serve to turn clients away, then clients without a request are dropped. Logs the failure at most once a
 * second.
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
      // If the spare descriptor is back, there is room for the client after all.
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
