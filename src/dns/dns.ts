import { type Clock, type Conn, type Log, type Messages, pause, Tasks, whenAborted } from "../core/mod.ts";
import type { Datagram, Datagrams } from "../world/mod.ts";
import { describe } from "../words/mod.ts";
import { dnsFrameDecoder, encodeDnsFrame } from "./messages/dns_message.ts";
import type { DnsAnswers } from "./dns_answers.ts";
import { type DnsReply, replyTo } from "./dns_reply.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions } from "../listeners/mod.ts";

export type DnsProtocol = "udp" | "tcp";

/** The dependencies of a DNS listener. */
export interface DnsDeps {
  readonly answers: DnsAnswers;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for every message with its outcome. */
  readonly told?: (protocol: DnsProtocol, reply: DnsReply) => void;
}

/** The maximum length of a query in bytes; real queries have fewer than 300. */
const longestQuestion = 4096;
/** Maximum number of UDP queries in progress; further ones are dropped, and clients retry. */
const mostWaiting = 512;
/** Maximum number of UDP queries per second; further ones are dropped. */
const mostInSecond = 20_000;

/**
 * Answers queries on a UDP socket until it is closed, then waits for the last answers; the signal aborts
 * those. No message stops the loop.
 */
export async function serveDnsDatagrams(
  datagrams: Datagrams,
  deps: DnsDeps,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const { clock, log } = deps;
  using _close = whenAborted(signal, () => datagrams.close());
  const failed = (error: unknown) => log.warn("dns.answer_failed", { reason: describe(error) });
  await using tasks = new Tasks(signal, failed);
  const rate = new Rate(clock);
  while (true) {
    let datagram: Datagram | undefined;
    try {
      datagram = await datagrams.receive();
    } catch (error) {
      log.error("dns.receive_failed", { reason: describe(error) });
      // A socket that fails repeatedly must not use the whole CPU.
      await pause(clock, 1000, { signal }).catch(() => {});
      continue;
    }
    if (!datagram) break;
    const { bytes, from } = datagram;
    const isTaken = from.port > 0 && bytes.length <= longestQuestion;
    if (!isTaken || tasks.size >= mostWaiting || !rate.allows()) deps.told?.("udp", { outcome: "dropped" });
    else {
      tasks.spawn(async (signal) => {
        const reply = await replyTo(bytes, { ...deps, signal });
        deps.told?.("udp", reply);
        if (reply.bytes) await datagrams.send(reply.bytes, from);
      });
    }
  }
  await tasks.idle();
}

/** Answers one client's TCP queries, one at a time. */
export async function serveDnsStream(
  client: Conn,
  messages: Messages,
  deps: Pick<ListenerDeps, "deadlines" | "limits">,
  { dnsDeps, signal, draining, unheard }:
    & Pick<ServeOptions, "signal" | "draining" | "unheard">
    & { dnsDeps: DnsDeps },
): Promise<void> {
  let isIdle = true;
  using _letGo = draining && whenAborted(draining, () => isIdle && client.abort(draining.reason));
  const decode = dnsFrameDecoder(longestQuestion);
  try {
    while (!draining?.aborted) {
      // The deadline covers the query, its answer and the client's read.
      using _deadline = handshakeDeadline(client, deps);
      isIdle = true;
      unheard?.add(client);
      const bytes = await messages.read(decode);
      isIdle = false;
      unheard?.delete(client);
      if (!bytes) return;
      const reply = await replyTo(bytes, { ...dnsDeps, signal, limit: 0xffff });
      dnsDeps.told?.("tcp", reply);
      // The client sends something other than queries, so the connection ends.
      if (!reply.bytes) return;
      await client.write(encodeDnsFrame(reply.bytes));
    }
  } catch (error) {
    if (!signal.aborted) {
      dnsDeps.log.debug("dns.client_gone", { client: client.peer, reason: describe(error) });
    }
  } finally {
    unheard?.delete(client);
    await client[Symbol.asyncDispose]();
  }
}

/** Allows a fixed number of events per second. */
class Rate {
  readonly #clock: Clock;
  #since = -Infinity;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  allows(): boolean {
    const now = this.#clock.now();
    if (now - this.#since >= 1000) {
      this.#since = now;
      this.#count = 0;
    }
    return ++this.#count <= mostInSecond;
  }
}
