import { whenAborted } from "../core/mod.ts";

interface Abortable {
  abort(reason?: unknown): void;
}

/** Runs work on a connection, and drops the connection if the signal aborts first. */
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

/** Runs work that prepares a connection, and drops the connection on failure, too. */
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
