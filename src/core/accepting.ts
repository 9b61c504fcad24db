import { type Clock, pause } from "./clock.ts";
import type { Conn } from "./conn.ts";
import { PosternError } from "./errors.ts";
import type { Log } from "./log.ts";
import type { Listening } from "./world.ts";

export interface AcceptingOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The clients of a socket until it is closed or the signal ends. Running out of descriptors is survived:
 * it waits, says so once a second, and goes on.
 */
export async function* accepting(
  listening: Listening,
  { signal, clock, log }: AcceptingOptions,
): AsyncGenerator<Conn> {
  const close = () => listening.close();
  signal.addEventListener("abort", close, { once: true });
  let saidAt = -Infinity;
  try {
    while (!signal.aborted) {
      let conn: Conn | undefined;
      try {
        conn = await listening.accept();
      } catch (error) {
        if (clock.now() - saidAt >= 1000) {
          saidAt = clock.now();
          log.error("door.accept_failed", { reason: error instanceof Error ? error.message : String(error) });
        }
        const isFull = error instanceof PosternError && error.detail === "overloaded";
        await pause(clock, isFull ? 50 : 10, { signal }).catch(() => {});
        continue;
      }
      if (!conn) return;
      yield conn;
    }
  } finally {
    signal.removeEventListener("abort", close);
  }
}
