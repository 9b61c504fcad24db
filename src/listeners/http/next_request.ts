import { type Conn, type Deadlines, type Messages, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

export interface NextRequestOptions {
  readonly deadlines: Deadlines;
  /** How long the client may stay idle, in ms. */
  readonly idle: number;
  /** Aborts when no further request is accepted. */
  readonly draining: AbortSignal | undefined;
}

/** Waits for the first byte of the next request; false when the client has closed or the wait has ended. */
export async function isAskedAgain(
  client: Conn,
  messages: Messages,
  { deadlines, idle, draining }: NextRequestOptions,
): Promise<boolean> {
  if (draining?.aborted) return false;
  const enough = new PosternError("cancelled", "The connection accepts no further request");
  const drop = () => client.abort(enough);
  using _draining = whenAborted(draining, drop);
  using _deadline = deadlines.add(idle, drop);
  try {
    return await messages.fill();
  } catch (error) {
    if (error !== enough) throw error;
    return false;
  }
}
