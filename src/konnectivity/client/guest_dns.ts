import { type Clock, type Conn, Messages, unlessAborted, whenAborted, within } from "../../core/mod.ts";
import { PosternError, withContext } from "../../words/mod.ts";
import type { Dialer } from "../../world/mod.ts";
import { dns } from "../../wire/mod.ts";
import { firstConnected } from "../../http/mod.ts";

export interface GuestDnsParts {
  readonly clock: Clock;
  /** The addresses of the DNS server. */
  readonly servers: (options: { readonly signal: AbortSignal }) => Promise<readonly string[]>;
  /** Through the tunnel. */
  readonly dial: Dialer;
}

/** What is known of a name: its addresses, or that it has none. */
interface Known {
  readonly addresses: readonly string[];
  /** For how long, in s. */
  readonly ttl: number;
}

/** Asks the DNS of a cluster, over TCP, and keeps what it says for as long as it says. */
export class GuestDns implements Disposable {
  readonly #parts: GuestDnsParts;
  /** What was said, oldest first, and until when it counts, by the clock. */
  readonly #kept = new Map<string, { readonly addresses: readonly string[]; readonly until: number }>();
  readonly #asking = new Map<string, Promise<readonly string[]>>();
  readonly #ended = new AbortController();

  constructor(parts: GuestDnsParts) {
    this.#parts = parts;
  }

  /** All addresses of a name; `name_not_found` where it has none, anything else where the server cannot be asked. */
  async resolve(name: string, { signal }: { readonly signal: AbortSignal }): Promise<readonly string[]> {
    const addresses = this.#held(name) ?? await unlessAborted(this.#asked(name), signal);
    if (addresses.length > 0) return addresses;
    throw new PosternError(
      "name_not_found",
      `Cannot find "${name}": the cluster's DNS knows no address of it`,
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

  /** Whoever asks at the same time shares one question. */
  #asked(name: string): Promise<readonly string[]> {
    const running = this.#asking.get(name);
    if (running) return running;
    const asking = this.#ask(name).finally(() => this.#asking.delete(name));
    // Those who wait for it hear of its failure.
    asking.catch(() => {});
    this.#asking.set(name, asking);
    return asking;
  }

  async #ask(name: string): Promise<readonly string[]> {
    const { clock } = this.#parts;
    const error = () =>
      new PosternError("timeout", `Cannot ask the cluster's DNS for "${name}": no answer in time`);
    const { addresses, ttl } = await within(
      { clock, ms: askLimit, signal: this.#ended.signal, error },
      (signal) => this.#exchange(name, signal),
    );
    if (ttl > 0) this.#keep(name, addresses, ttl);
    return addresses;
  }

  async #exchange(name: string, signal: AbortSignal): Promise<Known> {
    if (!dns.isDnsName(name)) {
      throw new PosternError("name_not_found", `Cannot find "${name}": not a name of DNS`);
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
      // That the server is not found says nothing of the name.
      if (error instanceof PosternError && error.code !== "name_not_found") throw error;
      throw withContext("Cannot ask the cluster's DNS", error, { code: "unreachable" });
    }
  }

  #keep(name: string, addresses: readonly string[], ttl: number): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= mostKept) this.#kept.delete(oldest);
    this.#kept.set(name, { addresses, until: this.#parts.clock.now() + Math.min(ttl, longestTtl) * 1000 });
  }
}

/** Asks for both families at once, on one connection (RFC 7766, section 6.2.1.1). */
async function ask(conn: Conn, name: string): Promise<Known> {
  const first = Math.floor(Math.random() * 0xfffe);
  const questions = (["A", "AAAA"] as const).map((type, at) => ({ id: first + at, type }));
  for (const { id, type } of questions) {
    await conn.write(dns.encodeFrame(dns.encodeMessage(question(id, name, type))));
  }
  const messages = new Messages(conn, { limit: 0xffff + 2 });
  const known: Known[] = [];
  const failures: PosternError[] = [];
  const left = new Map(questions.map(({ id, type }) => [id, type]));
  for (let count = 0; left.size > 0 && count < mostMessages; count++) {
    const frame = await messages.read(dns.frameDecoder());
    if (!frame) break;
    const message = dns.decodeMessage(frame)?.value;
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
  // Half of the truth is good enough where it has an address.
  if (failure && addresses.length === 0) throw failure;
  // What has addresses decides: most names have none of one family.
  const telling = addresses.length > 0 ? known.filter(({ addresses }) => addresses.length > 0) : known;
  return { addresses, ttl: Math.min(failure ? nothingTtl : longestTtl, ...telling.map(({ ttl }) => ttl)) };
}

function question(id: number, name: string, type: "A" | "AAAA"): dns.DnsMessage {
  return {
    id,
    isResponse: false,
    opcode: dns.queryOpcode,
    isAuthoritative: false,
    isTruncated: false,
    wantsRecursion: true,
    offersRecursion: false,
    isAuthentic: false,
    isUnchecked: false,
    rcode: dns.rcodes.noError,
    questions: [{ name, type, class: dns.classes.internet }],
    answers: [],
    authorities: [],
    additionals: [],
  };
}

/** The addresses of a name and of what it is only another name of. */
function meaningOf(
  { rcode, answers }: dns.DnsMessage,
  name: string,
  type: "A" | "AAAA",
): Known | PosternError {
  if (rcode === dns.rcodes.nameError) return { addresses: [], ttl: nothingTtl };
  if (rcode !== dns.rcodes.noError) {
    return new PosternError(
      "unreachable",
      `Cannot ask the cluster's DNS for "${name}": it answers with code ${rcode}`,
    );
  }
  const owners = new Set([plain(name)]);
  const addresses: string[] = [];
  let ttl = longestTtl;
  // An alias stands in front of what it leads to (RFC 1034, section 4.3.2).
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
    `Cannot ask the cluster's DNS for "${name}": it ended the connection`,
  );
}

const dnsPort = 53;
/** For one name, in ms. */
const askLimit = 5000;
const mostKept = 1000;
/** Of one server, answers to something else among them. */
const mostMessages = 8;
/** In s: whatever the server says, and where it says that there is nothing. */
const longestTtl = 300;
const nothingTtl = 5;
