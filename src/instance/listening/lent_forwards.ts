import { type Clock, pause } from "../../core/mod.ts";
import { errorInfo, type ForwardUpdate } from "../../control/mod.ts";
import { boundForwards } from "./forward_at.ts";
import type { BoundListener } from "./listener_set.ts";

/** Forwards of a command. Ending them closes the listeners and drops their connections. */
export interface LentForwards {
  readonly id: number;
  readonly bound: readonly BoundListener[];
  /** Aborts when the instance no longer listens. */
  readonly closed: AbortSignal;
  end(): Promise<void>;
}

/** How often to write to the command: a failed write shows that it has gone. */
const every = 1000;

/**
 * Opens forwards when the reader starts, and ends them when the reader has gone. A failure is the first update,
 * so that a reader who never starts leaves nothing open.
 */
export async function* lentForwards(
  open: () => Promise<LentForwards>,
  clock: Clock,
): AsyncGenerator<ForwardUpdate> {
  let lent: LentForwards;
  try {
    lent = await open();
  } catch (error) {
    yield { kind: "failed", error: errorInfo(error) };
    return;
  }
  const { id, bound, closed } = lent;
  try {
    yield { kind: "bound", id, forwards: boundForwards(bound) };
    while (!closed.aborted) {
      await pause(clock, every, { signal: closed }).catch(() => {});
      if (!closed.aborted) yield { kind: "alive" };
    }
    yield { kind: "stopped" };
  } finally {
    await lent.end();
  }
}
