import { type Clock, type Conn, Messages, unlessAborted, whenAborted, within } from "../../core/mod.ts";
import { PosternError, withContext } from "../../words/mod.ts";
import type { Dialer } from "../../world/mod.ts";
import {
  decodeDnsMessage,
  dnsFrameDecoder,
  type DnsMessage,
  dnsQuestion,
  dnsRcodes,
  encodeDnsFrame,
  encodeDnsMessage,
  isDnsName,
} from "../../dns/mod.ts";
import { firstConnected } from "../../http/mod.ts";

export interface GuestDnsParts {
  readonly clock: Clock;
  readonly servers: (options: { readonly signal: AbortSignal }) => Promise<readonly string[]>;
  /** Dials through the tunnel. */
  readonly dial: Dialer;
}

/** The addresses of a name; empty when it has none. */
interface Known {
  readonly addresses: readonly string[];
  /** The time to live, in s. */
  readonly ttl: number;
}

/** Queries a cluster's DNS over TCP and caches results for their time to live. */
export class GuestDns implements Disposable {
  readonly #parts: GuestDnsParts;
  /** The cached results, oldest first, with their expiry by the clock. */
  readonly #kept = new Map<string, { readonly addresses: readonly string[]; readonly until: number }>();
  readonly #asking = new Map<string, Promise<readonly string[]>>();
  readonly #ended = new AbortController();

  constructor(parts: GuestDnsParts) {
    this.#parts = parts;
  }

  /**
   * All addresses of a name. Throws `name_not_found` when it has none, other errors when the server fails.
   */
  async resolve(name: string, { signal }: { readonly signal: AbortSignal }): Promise<readonly string[]> {
    const addresses = this.#held(name) ?? await unlessAborted(this.#asked(name), signal);
    if (addresses.length > 0) return addresses;
    throw new PosternError(
      "name_not_found",
      `Cannot find "${name}": the cluster's DNS has no address for this name`,
    );
  }

  [Symbol.dispose](): void {
    this.#ended.abort(new PosternError("cancelled", "The transport was closed"));
    this.#kept.clear();
  }

  #held(name: string): readonly string[] | undefined {
    const kept = this.#kept.get(name);
    if (kept && kept.until > this.#parts.clock.now()) return kept.addresses;
    this.#kept.delete(name);
    return undefined;
  }

  /** Concurrent calls for the same name share one query. */
  #asked(name: string): Promise<readonly string[]> {
    const running = this.#asking.get(name);
    if (running) return running;
    const asking = this.#ask(name).finally(() => this.#asking.delete(name));
    // The callers that await it report its failure.
    asking.catch(() => {});
    this.#asking.set(name, asking);
    return asking;
  }

  async #ask(name: string): Promise<readonly string[]> {
    const { clock } = this.#parts;
    const error = () => new PosternError("timeout", `Cannot query the cluster's DNS for "${name}": timeout`);
    const { addresses, ttl } = await within(
      { clock, ms: askLimit, signal: this.#ended.signal, error },
      (signal) => this.#exchange(name, signal),
    );
    if (ttl > 0) this.#keep(name, addresses, ttl);
    return addresses;
  }

  async #exchange(name: string, signal: AbortSignal): Promise<Known> {
    if (!isDnsName(name)) {
      throw new PosternError("name_not_found", `Cannot find "${name}": it is not a valid DNS name`);
    }
    try {
      const servers = await this.#parts.servers({ signal });
      await using conn = await firstConnected(
        servers,
        (host, options) => this.#parts.dial({ host, port: dnsPort }, options),
        { clock: this.#parts.clock, signal, name: "the cluster's DNS", port: dnsPort },
      );
      using _drop = whenAborted(signal, () => conn.abort(signal.reason));
      return await ask(conn, name);
    } catch (error) {
      signal.throwIfAborted();
      // A missing DNS server does not mean that the name does not exist.
      if (error instanceof PosternError && error.code !== "name_not_found") throw error;
      throw withContext("Cannot query the cluster's DNS", error, { code: "unreachable" });
    }
  }

  #keep(name: string, addresses: readonly string[], ttl: number): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= mostKept) this.#kept.delete(oldest);
    this.#kept.set(name, { addresses, until: this.#parts.clock.now() + Math.min(ttl, longestTtl) * 1000 });
  }
}

/** Queries both address families at once on one connection (RFC 7766, section 6.2.1.1). */
async function ask(conn: Conn, name: string): Promise<Known> {
  const first = Math.floor(Math.random() * 0xfffe);
  const questions = (["A", "AAAA"] as const).map((type, at) => ({ id: first + at, type }));
  for (const { id, type } of questions) {
    await conn.write(encodeDnsFrame(encodeDnsMessage(dnsQuestion(id, name, type))));
  }
  const messages = new Messages(conn, { limit: 0xffff + 2 });
  const known: Known[] = [];
  const failures: PosternError[] = [];
  const left = new Map(questions.map(({ id, type }) => [id, type]));
  for (let count = 0; left.size > 0 && count < mostMessages; count++) {
    const frame = await messages.read(dnsFrameDecoder());
    if (!frame) break;
    const message = decodeDnsMessage(frame)?.value;
    const type = message && left.get(message.id);
    if (!message?.isResponse || type === undefined) continue;
    left.delete(message.id);
    const meant = meaningOf(message, name, type);
    if (meant instanceof PosternError) failures.push(meant);
    else known.push(meant);
  }
  if (left.size > 0) failures.push(noAnswer(name));
  const addresses = known.flatMap(({ addresses }) => addresses);
  const [failure] = failures;
  // Addresses of one family are enough.
  if (failure && addresses.length === 0) throw failure;
  // Only results with addresses set the time to live: most names lack one family.
  const telling = addresses.length > 0 ? known.filter(({ addresses }) => addresses.length > 0) : known;
  return { addresses, ttl: Math.min(failure ? nothingTtl : longestTtl, ...telling.map(({ ttl }) => ttl)) };
}

/** The addresses of a name and of its aliases. */
function meaningOf(
  { rcode, answers }: DnsMessage,
  name: string,
  type: "A" | "AAAA",
): Known | PosternError {
  if (rcode === dnsRcodes.nameError) return { addresses: [], ttl: nothingTtl };
  if (rcode !== dnsRcodes.noError) {
    return new PosternError(
      "unreachable",
      `Cannot query the cluster's DNS for "${name}": response code ${rcode}`,
    );
  }
  const owners = new Set([plain(name)]);
  const addresses: string[] = [];
  let ttl = longestTtl;
  // An alias precedes its target (RFC 1034, section 4.3.2).
  for (const record of answers) {
    if (!owners.has(plain(record.name))) continue;
    if (record.type === "CNAME") owners.add(plain(record.target));
    else if (record.type === type) addresses.push(record.address);
    else continue;
    ttl = Math.min(ttl, record.ttl);
  }
  return { addresses, ttl: addresses.length === 0 ? nothingTtl : ttl };
}

function plain(name: string): string {
  return name.toLowerCase();
}

function noAnswer(name: string): PosternError {
  return new PosternError(
    "unreachable",
    `Cannot query the cluster's DNS for "${name}": the server closed the connection`,
  );
}

const dnsPort = 53;
/** Timeout of one query, in ms. */
const askLimit = 5000;
const mostKept = 1000;
/** The maximum number of messages read from one server, including unrelated ones. */
const mostMessages = 8;
/** In s: the longest time in the cache, and the time for a name without addresses. */
const longestTtl = 300;
const nothingTtl = 5;
