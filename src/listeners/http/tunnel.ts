import { type Conn, type Dialed, type Messages, relay, whenAborted } from "../../core/mod.ts";
import type { ListenerDeps } from "../listener.ts";

export interface TunnelOptions {
  /** What tells the client that it is connected; empty where nothing does. */
  readonly reply: Uint8Array<ArrayBuffer>;
  /** Has what the client sent along with its request. */
  readonly messages: Messages;
  readonly signal: AbortSignal;
}

/** Tells the client that it is connected, gives the target what came early, relays, and ends the record. */
export async function tunnel(
  client: Conn,
  dialed: Dialed,
  { deps, reply, messages, signal }: TunnelOptions & { deps: ListenerDeps },
): Promise<void> {
  const { conn: target, tally } = dialed;
  // Where a read of a long dial still runs, the relay goes on with that.
  const from = messages.isReading ? messages.goOn() : client;
  const early = messages.isReading ? none : messages.rest();
  let failed: "client_gone" | "target_gone" = "client_gone";
  try {
    if (early.length === 0) {
      await client.write(reply);
    } else {
      using _drop = whenAborted(signal, () => target.abort(signal.reason));
      const sent = target.write(early).catch((error) => {
        failed = "target_gone";
        throw error;
      });
      await Promise.all([reply.length > 0 ? client.write(reply) : undefined, sent]);
      tally.up += early.length;
    }
  } catch (error) {
    client.abort(error);
    target.abort(error);
    return dialed.finish(signal.aborted ? "cancelled" : failed, error);
  }
  const { halfCloseLinger } = deps.limits;
  // At the end of the signal the client is dropped, and the relay with it: thousands of relays that listen to one signal
  // would make each new one walk along a long list.
  const isTold = "onAbort" in from && "onAbort" in target;
  const options = { clock: deps.clock, tally, halfCloseLinger, ...(isTold ? {} : { signal }) };
  // Not awaited: this function must not stay suspended for as long as the connection lives.
  return relay(from, target, options).then(({ outcome, error }) => {
    if (signal.aborted && outcome !== "done") dialed.finish("cancelled", signal.reason);
    else dialed.finish(outcome, error);
  });
}

const none = new Uint8Array();
