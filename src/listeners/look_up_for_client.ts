import type { Conn, DialRequest, Messages } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import { whileClientWaits } from "./dial_for_client.ts";
import { lastWords } from "./http/last_words.ts";
import type { ListenerDeps } from "./listener.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** How a protocol sends the result of a lookup. */
export interface LookupReplies {
  /** The answer; throws if the protocol cannot send it. */
  readonly found: (answer: string) => Bytes;
  readonly failed: (error: unknown) => Bytes;
}

/** Answers a client's lookup, `addressOf` a name or `nameOf` an address, and closes the connection. */
export async function lookUpForClient(
  client: Conn,
  messages: Messages,
  { kind, request, replies }: {
    readonly kind: "addressOf" | "nameOf";
    readonly request: DialRequest;
    readonly replies: LookupReplies;
  },
  options: { readonly deps: ListenerDeps; readonly signal: AbortSignal },
): Promise<void> {
  const { deps } = options;
  const { client: peer, protocol, user, target: { host } } = request;
  const fields = { client: peer, protocol, user, host };
  const { names } = deps;
  let reply: Bytes;
  try {
    if (!names) throw noLookups();
    const answer = await whileClientWaits(
      client,
      messages,
      options,
      (signal) => names[kind](request, { signal }),
    );
    reply = replies.found(answer);
    deps.log.debug("client.resolved", { ...fields, answer });
  } catch (error) {
    deps.log.info("client.refused", { ...fields, reason: describe(error) });
    reply = replies.failed(error);
  }
  await lastWords(client, messages, reply, { deps });
}

function noLookups(): PosternError {
  return new PosternError("not_allowed", "Cannot look up names: this listener does not support lookups", {
    detail: "command",
  });
}
