import { whenAborted } from "../core/mod.ts";

interface Abortable {
  abort(reason?: unknown): void;
}

/** Waits for something on a connection, which is dropped when the signal ends first. */
export async function abortable<T>(conn: Abortable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  using _drop = whenAborted(signal, () => conn.abort(signal.reason));
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** The same for what makes a connection usable: it is dropped when that fails, too. */
export async function orDrop<T>(conn: Abortable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    const result = await abortable(conn, signal, work);
    signal.throwIfAborted();
    return result;
  } catch (error) {
    conn.abort(error);
    throw error;
  }
}
