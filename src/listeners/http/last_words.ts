import type { Conn, Deadlines, Log, Messages } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";

const longest = 1000;
const mostDrained = 256 * 1024;

/**
 * Sends the last bytes of a connection, lets the client read them, and disposes the connection. Closing with
 * unread input would reset the connection and lose those bytes, so the input is drained for a while. Waits
 * first for `reading`, the current reader of that input.
 */
export async function lastWords(
  client: Conn,
  messages: Messages,
  bytes: Uint8Array<ArrayBuffer>,
  { deps, reading }: {
    deps: { readonly deadlines: Deadlines; readonly log: Log };
    reading?: Promise<void> | undefined;
  },
): Promise<void> {
  const deadline = deps.deadlines.add(longest, () => {
    client.abort(new PosternError("timeout", "Cannot wait longer for the client to close"));
  });
  try {
    if (bytes.length > 0) await client.write(bytes);
    await client.closeWrite();
    await reading;
    // First the buffered bytes: a full buffer could not be filled.
    let drained = messages.take(mostDrained).length;
    while (drained < mostDrained && await messages.fill()) drained += messages.take(mostDrained).length;
  } catch (error) {
    deps.log.debug("client.gone", { client: client.peer, reason: describe(error) });
  } finally {
    deadline[Symbol.dispose]();
    await client[Symbol.asyncDispose]();
  }
}
