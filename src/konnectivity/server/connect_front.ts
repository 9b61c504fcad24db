import { asPosternError, describe } from "../../words/mod.ts";
import { type Conn, type Dialed, joinBytes, Messages } from "../../core/mod.ts";
import { decodeRequestHead, encodeResponseHead, parseAuthority } from "../../wire/mod.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions, tunnel } from "../../listeners/mod.ts";

/** Serves a client of the HTTP CONNECT frontend: one tunnel per connection, like upstream's server. */
export async function serveConnectFront(
  client: Conn,
  deps: ListenerDeps,
  options: ServeOptions,
): Promise<void> {
  const { signal } = options;
  const messages = new Messages(client);
  try {
    using deadline = handshakeDeadline(client, deps, options);
    const head = await messages.read(decodeRequestHead);
    deadline[Symbol.dispose]();
    if (!head) return;
    if (head.method !== "CONNECT") return await answer(client, 405, "this server supports only CONNECT");
    let dialed: Dialed;
    try {
      const request = { target: parseAuthority(head.target), client: client.peer, protocol: "connect" };
      dialed = await deps.dial(request, { signal });
    } catch (error) {
      signal.throwIfAborted();
      return await answer(client, statusOf(error), describe(error));
    }
    // The response precedes all data from the target, which upstream's server does not guarantee.
    await tunnel(client, dialed, { deps, reply: connected, messages, signal });
  } catch (error) {
    deps.log.debug("client.gone", { client: client.peer, protocol: "connect", reason: describe(error) });
    client.abort(error);
  } finally {
    await client[Symbol.asyncDispose]();
  }
}

const connected = encodeResponseHead({ status: 200, reason: "Connection Established", fields: [] });

function statusOf(error: unknown): number {
  const { code, detail } = asPosternError(error);
  if (code === "timeout") return 504;
  if (code === "usage" || code === "protocol") return 400;
  return detail === "no_agent" ? 503 : 502;
}

/** Sends the reason as the body and closes the connection. */
async function answer(client: Conn, status: number, text: string): Promise<void> {
  const body = new TextEncoder().encode(`${text}\n`);
  const head = encodeResponseHead({
    status,
    fields: [
      ["Content-Type", "text/plain; charset=utf-8"],
      ["Content-Length", String(body.length)],
      ["Connection", "close"],
    ],
  });
  await client.write(joinBytes([head, body]));
  await client.closeWrite();
}
