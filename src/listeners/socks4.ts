import type { Conn, Messages } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import {
  decodeSocks4Request,
  encodeSocks4Reply,
  socks4Commands,
  socks4Replies,
  type Socks4Request,
} from "../wire/mod.ts";
import { dialForClient } from "./dial_for_client.ts";
import { lastWords } from "./http/last_words.ts";
import { lookUpForClient } from "./look_up_for_client.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions } from "./listener.ts";
import { tunnel } from "./http/tunnel.ts";

const granted = encodeSocks4Reply(socks4Replies.granted);
const refused = encodeSocks4Reply(socks4Replies.refused);
const replies = {
  found: (address: string) => encodeSocks4Reply(socks4Replies.granted, address),
  failed: () => refused,
};

/** Serves one SOCKS4 or SOCKS4a client: CONNECT to an IPv4 address or a name, and Tor's RESOLVE. */
export async function serveSocks4(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
): Promise<void> {
  const { signal, deadline = handshakeDeadline(client, deps, options) } = options;
  let request: Socks4Request | undefined;
  try {
    request = await readRequest(messages, deps);
  } catch (error) {
    deps.log.info("client.refused", { client: client.peer, protocol: "socks4", reason: describe(error) });
    const isUnproved = error instanceof PosternError && error.code === "auth";
    return await lastWords(
      client,
      messages,
      isUnproved ? encodeSocks4Reply(socks4Replies.wrongUser) : refused,
      {
        deps,
      },
    );
  } finally {
    deadline[Symbol.dispose]();
  }
  if (!request) return await client[Symbol.asyncDispose]();
  const wanted = { target: request.target, client: client.peer, protocol: "socks4" };
  if (request.command === socks4Commands.resolve) {
    return await lookUpForClient(
      client,
      messages,
      { kind: "addressOf", request: wanted, replies },
      { deps, signal },
    );
  }
  let dialed;
  try {
    dialed = await dialForClient(client, messages, wanted, { deps, signal });
  } catch {
    // The protocol has one reply for all errors; the record of the dial has the reason.
    return await lastWords(client, messages, refused, { deps });
  }
  return tunnel(client, dialed, { deps, reply: granted, messages, signal });
}

/** Undefined if the client closed without sending a request. */
async function readRequest(messages: Messages, { auth }: ListenerDeps): Promise<Socks4Request | undefined> {
  const request = await messages.read(decodeSocks4Request);
  if (!request) return undefined;
  if (auth) {
    throw new PosternError("auth", "Cannot serve the client: SOCKS4 has no passwords", {
      hint: "configure the client for SOCKS5 or HTTP",
    });
  }
  const { command } = request;
  if (command === socks4Commands.connect || command === socks4Commands.resolve) return request;
  const name = command === socks4Commands.bind ? "BIND" : `command ${command}`;
  throw new PosternError(
    "not_allowed",
    `Cannot serve ${name}: over SOCKS4, postern supports CONNECT and RESOLVE`,
    {
      detail: "command",
    },
  );
}
