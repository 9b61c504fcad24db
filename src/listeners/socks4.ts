import type { Conn, Messages } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import { socks4 } from "../wire/mod.ts";
import { dialForClient } from "./dial_for_client.ts";
import { lastWords } from "./http/last_words.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions } from "./listener.ts";
import { tunnel } from "./http/tunnel.ts";

const { commands, replies } = socks4;
const granted = socks4.encodeReply(replies.granted);
const refused = socks4.encodeReply(replies.refused);

/** Serves one SOCKS4 or 4A client: CONNECT by IPv4 address or name. */
export async function serveSocks4(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
): Promise<void> {
  const { signal, deadline = handshakeDeadline(client, deps, options) } = options;
  let request: socks4.Request | undefined;
  try {
    request = await readRequest(messages, deps);
  } catch (error) {
    deps.log.info("client.refused", { client: client.peer, protocol: "socks4", reason: describe(error) });
    const isUnproved = error instanceof PosternError && error.code === "auth";
    return await lastWords(client, messages, isUnproved ? socks4.encodeReply(replies.wrongUser) : refused, {
      deps,
    });
  } finally {
    deadline[Symbol.dispose]();
  }
  if (!request) return await client[Symbol.asyncDispose]();
  let dialed;
  try {
    const wanted = { target: request.target, client: client.peer, protocol: "socks4" };
    dialed = await dialForClient(client, messages, wanted, { deps, signal });
  } catch {
    // The protocol knows one refusal; the reason is in the record of the dial.
    return await lastWords(client, messages, refused, { deps });
  }
  return tunnel(client, dialed, { deps, reply: granted, messages, signal });
}

/** Undefined when the client left without a word. */
async function readRequest(messages: Messages, { auth }: ListenerDeps): Promise<socks4.Request | undefined> {
  const request = await messages.read(socks4.decodeRequest);
  if (!request) return undefined;
  if (auth) {
    throw new PosternError("auth", "Cannot serve the client: SOCKS4 carries no password", {
      hint: "let the client use SOCKS5 or HTTP",
    });
  }
  if (request.command !== commands.connect) {
    const name = request.command === commands.bind ? "BIND" : `command ${request.command}`;
    throw new PosternError("not_allowed", `Cannot do ${name}: this door serves CONNECT only`, {
      detail: "command",
    });
  }
  return request;
}
