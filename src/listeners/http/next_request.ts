import { type Conn, type Deadlines, type Messages, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

export interface NextRequestOptions {
  readonly deadlines: Deadlines;
  /** How long the client may do nothing, in ms. */
  readonly idle: number;
  /** Ends when no further request is wanted. */
  readonly draining: AbortSignal | undefined;
}

/** Waits for the first byte of another request; false when the client has ended or is let go. */
export async function isAskedAgain(
  client: Conn,
  messages: Messages,
  { deadlines, idle, draining }: NextRequestOptions,
): Promise<boolean> {
  if (draining?.aborted) return false;
  const enough = new PosternError("cancelled", "No further request is wanted on this connection");
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
