import type { Conn, Deadlines, Log, Messages } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";

const longest = 1000;
const mostDrained = 256 * 1024;

/**
 * Sends the last bytes of a connection, lets the client read them, and disposes it. Closing over input that
 * nobody has read resets a connection, and the answer would be lost: so that input is drained for a while.
 * `reading` is whoever reads that input now, to be waited for first.
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
    client.abort(new PosternError("timeout", "Cannot wait for the client to close any longer"));
  });
  try {
    if (bytes.length > 0) await client.write(bytes);
    await client.closeWrite();
    await reading;
    // First what has been read already: a full buffer would take no more.
    let drained = messages.take(mostDrained).length;
    while (drained < mostDrained && await messages.fill()) drained += messages.take(mostDrained).length;
  } catch (error) {
    deps.log.debug("client.gone", { client: client.peer, reason: describe(error) });
  } finally {
    deadline[Symbol.dispose]();
    await client[Symbol.asyncDispose]();
  }
}
