import { type Conn, Messages, percentDecoded } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { hopsField } from "../../control/mod.ts";
import { encodeResponseHead, type RequestHead, requestTarget } from "../../wire/mod.ts";
import { dialForClient } from "../dial_for_client.ts";
import { answerBytes } from "../http/http_answer.ts";
import { lastWords } from "../http/last_words.ts";
import { tunnel } from "../http/tunnel.ts";
import type { ListenerDeps } from "../listener.ts";
import { errorJson } from "./page.ts";
import { StreamClient } from "./stream_client.ts";

export interface StreamRequest {
  readonly client: Conn;
  /** Has read the head. */
  readonly messages: Messages;
  readonly head: RequestHead;
}

export interface ServeStreamOptions {
  readonly signal: AbortSignal;
  /** Throws for a client that may not connect. */
  readonly mayConnect: () => Promise<void>;
}

const connected = encodeResponseHead({ status: 200, reason: "Connected", fields: [] });
const none = new Uint8Array();

/**
 * Connects a client of the control socket to the target of its CONNECT. After the head, the client sends plain bytes
 * and gets chunks: see `StreamClient`. A refused client gets the error as JSON.
 */
export async function serveStream(
  { client, messages, head }: StreamRequest,
  deps: ListenerDeps,
  { signal, mayConnect }: ServeStreamOptions,
): Promise<void> {
  let dialed;
  try {
    await mayConnect();
    const wanted = requestTarget(head);
    if (wanted.form !== "authority") {
      throw new PosternError("usage", "Cannot serve as a proxy on the control socket", {
        hint: "request a path, or CONNECT HOST:PORT",
      });
    }
    const hops = (head.fields.get(hopsField) ?? "").split(" ").flatMap((hop) => percentDecoded(hop) || []);
    const request = {
      target: wanted.target,
      client: client.peer,
      protocol: "nc",
      ...(hops.length > 0 && { hops }),
    };
    dialed = await dialForClient(client, messages, request, { deps, signal });
  } catch (error) {
    const bytes = answerBytes(errorJson(error), {
      method: undefined,
      keeps: false,
      date: deps.clock.date(),
    });
    return await lastWords(client, messages, bytes, { deps });
  }
  try {
    await client.write(connected);
  } catch (error) {
    return dialed.finish("client_gone", error);
  }
  const told = new StreamClient(client, messages, deps.clock);
  return await tunnel(told, dialed, { deps, reply: none, messages: new Messages(told), signal });
}
