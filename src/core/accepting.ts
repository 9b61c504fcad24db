import { type Clock, pause } from "./clock.ts";
import type { Conn } from "./conn.ts";
import { describe, PosternError } from "./errors.ts";
import type { Log } from "./log.ts";
import { whenAborted } from "./when_aborted.ts";
import type { Listening } from "./world.ts";

export interface AcceptingOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells a client that there is no room for it, and drops it. */
  readonly turnAway?: (client: Conn) => Promise<void>;
}

/**
 * The clients of a socket until it is closed or the signal ends. Running out of descriptors is survived: with a
 * spare one a client is told that there is no room, it says so once a second, waits, and goes on.
 */
export async function* accepting(
  listening: Listening,
  { signal, clock, log, turnAway }: AcceptingOptions,
): AsyncGenerator<Conn> {
  using _close = whenAborted(signal, () => listening.close());
  let saidAt = -Infinity;
  let turningAway: Promise<void> | undefined;
  try {
    while (!signal.aborted) {
      let conn: Conn | undefined;
      let isSpare = false;
      try {
        conn = await listening.accept();
      } catch (error) {
        if (clock.now() - saidAt >= 1000) {
          saidAt = clock.now();
          log.error("door.accept_failed", { reason: describe(error) });
        }
        const isFull = error instanceof PosternError && error.detail === "overloaded";
        isSpare = isFull && turnAway !== undefined && listening.spendSpare?.() === true;
        if (!isSpare) {
          await pause(clock, 50, { signal }).catch(() => {});
          listening.keepSpare?.();
          continue;
        }
        conn = await listening.accept().catch(() => undefined);
      }
      // The spare one may be back by now: then there is room again.
      if (isSpare && listening.keepSpare?.() !== true) {
        turningAway = Promise.resolve(conn && turnAway?.(conn))
          .catch((error) => log.debug("client.gone", { reason: describe(error) }))
          .finally(() => void listening.keepSpare?.());
      } else if (conn) yield conn;
      else if (!isSpare) return;
    }
  } finally {
    await turningAway;
  }
}
