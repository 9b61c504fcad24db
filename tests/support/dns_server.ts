import { type Conn, Messages, Tasks } from "../../src/core/mod.ts";
import type { Listening } from "../../src/world/mod.ts";
import {
  decodeDnsMessage,
  dnsFrameDecoder,
  dnsRcodes,
  type DnsRecord,
  encodeDnsFrame,
  encodeDnsMessage,
} from "../../src/dns/mod.ts";
import type { DnsType } from "../../src/dns/messages/dns_records.ts";

/** The server's reaction to a name: addresses and aliases, an error code, or a closed connection. */
export type DnsSaying =
  | { readonly addresses: readonly string[]; readonly alias?: string; readonly ttl?: number }
  | { readonly rcode: number }
  | "ends"
  | "silent";

/** A DNS server over TCP that answers from a table; other names do not exist. */
export class DnsServer implements AsyncDisposable {
  readonly names = new Map<string, DnsSaying>();
  /** `TYPE name` of each question, in order. */
  readonly asked: string[] = [];
  readonly #listening: Listening;
  readonly #tasks = new Tasks(undefined, () => {});

  constructor(listening: Listening, names: Readonly<Record<string, DnsSaying>> = {}) {
    this.#listening = listening;
    for (const [name, saying] of Object.entries(names)) this.names.set(name, saying);
    this.#tasks.spawn(() => this.#accept());
  }

  async #accept(): Promise<void> {
    for (let conn; (conn = await this.#listening.accept());) {
      const client = conn;
      this.#tasks.spawn(async (signal) => {
        signal.addEventListener("abort", () => client.abort(), { once: true });
        await using _client = client;
        await this.#serve(client);
      });
    }
  }

  async #serve(client: Conn): Promise<void> {
    const messages = new Messages(client);
    for (let frame; (frame = await messages.read(dnsFrameDecoder()));) {
      const message = decodeDnsMessage(frame)?.value;
      const [question] = message?.questions ?? [];
      if (!message || !question) return;
      const { name, type } = question;
      this.asked.push(`${type} ${name}`);
      const said = this.names.get(name) ?? { rcode: dnsRcodes.nameError };
      if (said === "ends") return;
      if (said === "silent") continue;
      await client.write(encodeDnsFrame(encodeDnsMessage({
        ...message,
        isResponse: true,
        rcode: "rcode" in said ? said.rcode : 0,
        answers: "rcode" in said ? [] : answersOf(name, type, said),
      })));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening.close();
    await this.#tasks[Symbol.asyncDispose]();
  }
}

function answersOf(
  name: string,
  type: DnsType,
  { addresses, alias, ttl = 60 }: { addresses: readonly string[]; alias?: string; ttl?: number },
): DnsRecord[] {
  const fitting = addresses.filter((address) => (address.includes(":") ? "AAAA" : "A") === type);
  const owner = alias ?? name;
  return [
    ...alias === undefined ? [] : [{ name, ttl, type: "CNAME", target: alias } as const],
    ...fitting.map((address) => ({ name: owner, ttl, type: type as "A" | "AAAA", address })),
  ];
}
