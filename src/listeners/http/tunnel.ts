import { type Conn, type Dialed, type Messages, relay, whenAborted } from "../../core/mod.ts";
import type { ListenerDeps } from "../listener.ts";

export interface TunnelOptions {
  /** The success reply for the client; may be empty. */
  readonly reply: Uint8Array<ArrayBuffer>;
  /** Holds early bytes of the client. */
  readonly messages: Messages;
  readonly signal: AbortSignal;
}

/**
 * Confirms the connection to the client, sends its early bytes to the target, relays, and ends the record.
 */
export async function tunnel(
  client: Conn,
  dialed: Dialed,
  { deps, reply, messages, signal }: TunnelOptions & { deps: ListenerDeps },
): Promise<void> {
  const { conn: target, tally } = dialed;
  // After a long dial a read may be pending, which the relay continues.
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
  // Aborting the signal drops the client and with it the relay. Thousands of relays on one signal would slow
  // down each new listener.
  const isTold = "onAbort" in from && "onAbort" in target;
  const options = { clock: deps.clock, tally, halfCloseLinger, ...(isTold ? {} : { signal }) };
  // Not awaited: this function must not stay suspended while the connection lives.
  return relay(from, target, options).then(({ outcome, error }) => {
    if (signal.aborted && outcome !== "done") dialed.finish("cancelled", signal.reason);
    else dialed.finish(outcome, error);
  });
}

const none = new Uint8Array();
