import type { Conn, Messages } from "../core/mod.ts";
import { describe, PosternError, socks5Reply } from "../words/mod.ts";
import { socks5 } from "../wire/mod.ts";
import { dialForClient } from "./dial_for_client.ts";
import { lastWords } from "./http/last_words.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions } from "./listener.ts";
import { tunnel } from "./http/tunnel.ts";

const { commands, methods } = socks5;
const none = new Uint8Array();
const chosen = { none: socks5.encodeChoice(methods.none), password: socks5.encodeChoice(methods.password) };
/** The bound address stays empty: no client of CONNECT needs it, and it would tell of the network behind. */
const connected = socks5.encodeReply(0);

/** Serves one SOCKS5 client (RFC 1928, RFC 1929): CONNECT by address or name. */
export async function serveSocks5(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
): Promise<void> {
  const { signal, deadline = handshakeDeadline(client, deps, options) } = options;
  let asked: Asked | Refusal | undefined;
  try {
    asked = await handshake(client, messages, deps, signal);
  } catch (error) {
    asked = { error, reply: none };
  } finally {
    deadline[Symbol.dispose]();
  }
  if (!asked) return await client[Symbol.asyncDispose]();
  if ("error" in asked) {
    deps.log.info("client.refused", {
      client: client.peer,
      protocol: "socks5",
      reason: describe(asked.error),
    });
    if (asked.reply.length === 0) return client.abort(asked.error);
    return await lastWords(client, messages, asked.reply, { deps });
  }
  let dialed;
  try {
    const request = { ...asked, client: client.peer, protocol: "socks5" };
    dialed = await dialForClient(client, messages, request, { deps, signal });
  } catch (error) {
    return await lastWords(client, messages, socks5.encodeReply(socks5Reply(error)), { deps });
  }
  return tunnel(client, dialed, { deps, reply: connected, messages, signal });
}

type Asked = { readonly target: socks5.Request["target"]; readonly user?: string };

interface Refusal {
  readonly error: unknown;
  /** Empty where the protocol has no answer. */
  readonly reply: Uint8Array<ArrayBuffer>;
}

/** Undefined when the client left without a word. */
async function handshake(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  signal: AbortSignal,
): Promise<Asked | Refusal | undefined> {
  const { auth } = deps;
  const greeting = await messages.read(socks5.decodeGreeting);
  if (!greeting) return undefined;
  if (!greeting.methods.includes(auth ? methods.password : methods.none)) {
    const what = auth ? "a password" : "to go without a password";
    return {
      error: new PosternError("auth", `Cannot serve the client: it does not offer ${what}`),
      reply: socks5.encodeChoice(methods.unacceptable),
    };
  }
  await client.write(auth ? chosen.password : chosen.none);
  let user: string | undefined;
  if (auth) {
    const credentials = await messages.read(socks5.decodeCredentials);
    if (!credentials) return undefined;
    const { password } = credentials;
    if (!await auth.check(credentials.user, password, { peer: client.peer, signal })) {
      return {
        error: new PosternError("auth", "Cannot serve the client: wrong user or password"),
        reply: socks5.encodeVerdict(false),
      };
    }
    user = credentials.user;
    await client.write(socks5.encodeVerdict(true));
  }
  return await readRequest(messages, user);
}

async function readRequest(
  messages: Messages,
  user: string | undefined,
): Promise<Asked | Refusal | undefined> {
  try {
    const request = await messages.read(socks5.decodeRequest);
    if (!request) return undefined;
    const { command, target } = request;
    if (command === commands.connect) return user === undefined ? { target } : { target, user };
    const name = { [commands.bind]: "BIND", [commands.associate]: "UDP ASSOCIATE" }[command] ??
      `command ${command}`;
    throw new PosternError("not_allowed", `Cannot do ${name}: this door serves CONNECT only`, {
      detail: "command",
    });
  } catch (error) {
    return { error, reply: socks5.encodeReply(socks5Reply(error)) };
  }
}
