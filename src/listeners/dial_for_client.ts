import type { Conn, Dialed, DialRequest, Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { ListenerDeps } from "./listener.ts";

/** How long to work before watching the client, in ms. Most dials are faster and skip the watch. */
const soon = 1000;
/** How many bytes to read ahead from the client; backpressure stops a client that sends more. */
const mostAhead = 16 * 1024;

/** Dials for a waiting client. */
export function dialForClient(
  client: Conn,
  messages: Messages,
  request: DialRequest,
  options: { deps: ListenerDeps; signal: AbortSignal },
): Promise<Dialed> {
  return whileClientWaits(client, messages, options, (signal) => options.deps.dial(request, { signal }));
}

/**
 * Works for a waiting client and cancels the work when the client resets its connection. A client that only
 * closed its side may still wait for the answer. Early bytes stay in `messages`, where a read may still be
 * pending: `messages.goOn()` continues it.
 */
export async function whileClientWaits<T>(
  client: Conn,
  messages: Messages,
  { deps, signal }: { deps: ListenerDeps; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaving = new AbortController();
  const leave = (reason: unknown) => leaving.abort(reason);
  const pass = () => leave(signal.reason);
  // The owner of the signal also drops the client when it aborts, so `onAbort` replaces a listener on a
  // shared signal.
  const isTold = "onAbort" in client && !signal.aborted;
  if (isTold) client.onAbort = leave;
  else if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  let isWaiting = true;
  const lookAfter = async () => {
    try {
      while (isWaiting && messages.pending.length < mostAhead && await messages.fill());
    } catch (error) {
      leave(new PosternError("cancelled", "The client closed the connection", { cause: error }));
    }
  };
  const watch = deps.deadlines.add(soon, () => void lookAfter());
  try {
    return await work(leaving.signal);
  } finally {
    isWaiting = false;
    watch[Symbol.dispose]();
    if (isTold) client.onAbort = undefined;
    else signal.removeEventListener("abort", pass);
  }
}
