import type { Conn, Messages } from "../core/mod.ts";
import { describe, PosternError, socks5Reply, type Target } from "../words/mod.ts";
import {
  decodeSocks5Credentials,
  decodeSocks5Greeting,
  decodeSocks5Request,
  encodeSocks5Choice,
  encodeSocks5Reply,
  encodeSocks5Verdict,
  socks5Commands,
  socks5Methods,
} from "../wire/mod.ts";
import { dialForClient } from "./dial_for_client.ts";
import { lastWords } from "./http/last_words.ts";
import { lookUpForClient } from "./look_up_for_client.ts";
import { serveSocks5Datagrams } from "./socks5_datagrams.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions } from "./listener.ts";
import { tunnel } from "./http/tunnel.ts";

const none = new Uint8Array();
const chosen = {
  none: encodeSocks5Choice(socks5Methods.none),
  password: encodeSocks5Choice(socks5Methods.password),
};
/** The commands that postern serves; BIND would accept connections for a client. */
const served: ReadonlySet<number> = new Set([
  socks5Commands.connect,
  socks5Commands.associate,
  socks5Commands.resolve,
  socks5Commands.resolvePtr,
]);
/** The bound address stays empty: CONNECT clients do not need it, and it would reveal the network. */
const connected = encodeSocks5Reply(0);

const replies = {
  found: (answer: string) => encodeSocks5Reply(0, { host: answer, port: 0 }),
  failed: (error: unknown) => encodeSocks5Reply(socks5Reply(error)),
};

/**
 * Serves one SOCKS5 client (RFC 1928, RFC 1929): CONNECT to an address or a name, UDP ASSOCIATE, and Tor's
 * RESOLVE and RESOLVE_PTR.
 */
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
  const { command } = asked;
  const request = { ...asked.request, client: client.peer, protocol: "socks5" };
  if (command !== socks5Commands.connect) {
    if (command === socks5Commands.associate) {
      return await serveSocks5Datagrams(client, messages, request, { ...options, deps });
    }
    const kind = command === socks5Commands.resolve ? "addressOf" : "nameOf";
    return await lookUpForClient(client, messages, { kind, request, replies }, { deps, signal });
  }
  let dialed;
  try {
    dialed = await dialForClient(client, messages, request, { deps, signal });
  } catch (error) {
    return await lastWords(client, messages, replies.failed(error), { deps });
  }
  return tunnel(client, dialed, { deps, reply: connected, messages, signal });
}

interface Asked {
  readonly command: number;
  readonly request: { readonly target: Target; readonly user?: string };
}

interface Refusal {
  readonly error: unknown;
  /** Empty if the protocol has no reply. */
  readonly reply: Uint8Array<ArrayBuffer>;
}

/** Undefined if the client closed without sending a request. */
async function handshake(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  signal: AbortSignal,
): Promise<Asked | Refusal | undefined> {
  const { auth } = deps;
  const greeting = await messages.read(decodeSocks5Greeting);
  if (!greeting) return undefined;
  if (!greeting.methods.includes(auth ? socks5Methods.password : socks5Methods.none)) {
    const what = auth ? "password authentication" : "unauthenticated access";
    return {
      error: new PosternError("auth", `Cannot serve the client: it does not offer ${what}`),
      reply: encodeSocks5Choice(socks5Methods.unacceptable),
    };
  }
  await client.write(auth ? chosen.password : chosen.none);
  let user: string | undefined;
  if (auth) {
    const credentials = await messages.read(decodeSocks5Credentials);
    if (!credentials) return undefined;
    const { password } = credentials;
    if (!await auth.check(credentials.user, password, { peer: client.peer, signal })) {
      return {
        error: new PosternError("auth", "Cannot serve the client: wrong user or password"),
        reply: encodeSocks5Verdict(false),
      };
    }
    user = credentials.user;
    await client.write(encodeSocks5Verdict(true));
  }
  return await readRequest(messages, user);
}

async function readRequest(
  messages: Messages,
  user: string | undefined,
): Promise<Asked | Refusal | undefined> {
  try {
    const request = await messages.read(decodeSocks5Request);
    if (!request) return undefined;
    const { command, target } = request;
    if (served.has(command)) return { command, request: user === undefined ? { target } : { target, user } };
    const name = command === socks5Commands.bind ? "BIND" : `command ${command}`;
    throw new PosternError(
      "not_allowed",
      `Cannot serve ${name}: postern supports CONNECT, UDP ASSOCIATE and RESOLVE`,
      {
        detail: "command",
      },
    );
  } catch (error) {
    return { error, reply: replies.failed(error) };
  }
}
