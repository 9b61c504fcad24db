import type { Conn, Dialed, DialRequest, Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { ListenerDeps } from "./listener.ts";

/** How long a dial goes on before its client is looked after, in ms: most are over by then, and pay nothing for it. */
const soon = 1000;
/** How much is read of a client meanwhile; one that sends more has to wait, as it would have without. */
const mostAhead = 16 * 1024;

/**
 * Dials for a client that waits, and gives up when it resets its connection. That it has ended its side does not mean
 * that it has left: it may have sent all that it wants to say. What it sends meanwhile stays in `messages`, where a read
 * may go on running: `messages.goOn()` continues there.
 */
export async function dialForClient(
  client: Conn,
  messages: Messages,
  request: DialRequest,
  { deps, signal }: { deps: ListenerDeps; signal: AbortSignal },
): Promise<Dialed> {
  const leaving = new AbortController();
  const leave = (reason: unknown) => leaving.abort(reason);
  const pass = () => leave(signal.reason);
  // Whoever ends the signal drops the client too, which then tells of it: one listener less on a signal that all share.
  const isTold = "onAbort" in client && !signal.aborted;
  if (isTold) client.onAbort = leave;
  else if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  let isDialling = true;
  const lookAfter = async () => {
    try {
      while (isDialling && messages.pending.length < mostAhead && await messages.fill());
    } catch (error) {
      leave(new PosternError("cancelled", "The client has left", { cause: error }));
    }
  };
  const watch = deps.deadlines.add(soon, () => void lookAfter());
  try {
    return await deps.dial(request, { signal: leaving.signal });
  } finally {
    isDialling = false;
    watch[Symbol.dispose]();
    if (isTold) client.onAbort = undefined;
    else signal.removeEventListener("abort", pass);
  }
}
