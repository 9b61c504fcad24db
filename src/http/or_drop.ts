import { whenAborted } from "../core/mod.ts";

/** Does something with a connection that is dropped when that fails, or when the signal ends first. */
export async function orDrop<T>(
  conn: { abort(reason?: unknown): void },
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  using _drop = whenAborted(signal, () => conn.abort(signal.reason));
  try {
    signal.throwIfAborted();
    const result = await work();
    signal.throwIfAborted();
    return result;
  } catch (error) {
    conn.abort(error);
    signal.throwIfAborted();
    throw error;
  }
}
