import type { Clock, Conn } from "../core/mod.ts";
import { type ErrorCode, formatTarget, isLoopbackHost, PosternError, reasonOf } from "../words/mod.ts";

/** The pause before the next address is tried beside those that have not answered (RFC 8305, section 5). */
const connectionAttemptDelay = 250;

export interface FirstConnectedOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What is being connected to, for the error when nothing answers. */
  readonly name: string;
  readonly port: number;
}

/** Connects to one address. */
export type Connect = (address: string, options: { signal: AbortSignal }) => Promise<Conn>;

/**
 * The addresses with families taking turns, beginning with the family of the first: the resolver has already
 * decided by RFC 6724 which one that is (RFC 8305, section 4).
 */
export function interleaved(addresses: readonly string[]): string[] {
  const first = familyOf(addresses[0] ?? "");
  const same = addresses.filter((address) => familyOf(address) === first);
  const other = addresses.filter((address) => familyOf(address) !== first);
  const out: string[] = [];
  for (let at = 0; at < Math.max(same.length, other.length); at++) {
    for (const address of [same[at], other[at]]) if (address !== undefined) out.push(address);
  }
  return out;
}

/** The first connection that stands; the addresses are tried in the order given, each a little after the one before. */
export function firstConnected(
  addresses: readonly string[],
  connect: Connect,
  options: FirstConnectedOptions,
): Promise<Conn> {
  const [only] = addresses;
  if (only !== undefined && addresses.length === 1) return connected(only, connect, options);
  return new Race(addresses, connect, options).run();
}

/** Most names have one address: no race, and the signal of the dial itself. */
async function connected(address: string, connect: Connect, options: FirstConnectedOptions): Promise<Conn> {
  const { signal } = options;
  signal.throwIfAborted();
  try {
    return await connect(address, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw noneAnswered(new Map([[address, error]]), options);
  }
}

/** One race: whoever connects first stops all others, and one that connects too late is closed. */
class Race {
  readonly #addresses: readonly string[];
  readonly #connect: Connect;
  readonly #options: FirstConnectedOptions;
  readonly #running = new Set<AbortController>();
  readonly #failures = new Map<string, unknown>();
  readonly #result = Promise.withResolvers<Conn>();
  #next = 0;
  #isOver = false;
  #timer: Disposable | undefined;

  constructor(addresses: readonly string[], connect: Connect, options: FirstConnectedOptions) {
    this.#addresses = addresses;
    this.#connect = connect;
    this.#options = options;
  }

  run(): Promise<Conn> {
    const { signal } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener("abort", this.#cancel, { once: true });
    this.#startNext();
    return this.#result.promise;
  }

  readonly #cancel = (): void => {
    const { reason } = this.#options.signal;
    this.#end();
    for (const attempt of this.#running) attempt.abort(reason);
    this.#result.reject(reason);
  };

  readonly #startNext = (): void => {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const address = this.#addresses[this.#next++];
    if (address !== undefined) void this.#attempt(address);
    if (this.#next < this.#addresses.length && !this.#isOver) {
      this.#timer = this.#options.clock.after(connectionAttemptDelay, this.#startNext);
    }
  };

  async #attempt(address: string): Promise<void> {
    const own = new AbortController();
    this.#running.add(own);
    try {
      const conn = await this.#connect(address, { signal: own.signal });
      this.#running.delete(own);
      if (this.#isOver) return conn.abort();
      this.#end();
      for (const loser of this.#running) {
        loser.abort(new PosternError("cancelled", "Another address was faster"));
      }
      this.#result.resolve(conn);
    } catch (error) {
      this.#running.delete(own);
      if (this.#isOver) return;
      this.#failures.set(address, error);
      if (this.#next < this.#addresses.length) this.#startNext();
      else if (this.#running.size === 0) {
        this.#end();
        this.#result.reject(noneAnswered(this.#failures, this.#options));
      }
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#cancel);
  }
}

/** What a person can act on first: somebody answered "no" > there is no way > nobody answered. */
const byUse: readonly ErrorCode[] = ["refused", "unreachable", "timeout"];
const mostNamed = 4;

/** One error for all addresses: the most useful code, and what each address said. */
function noneAnswered(
  failures: ReadonlyMap<string, unknown>,
  { name, port }: { readonly name: string; readonly port: number },
): PosternError {
  const rank = (error: unknown) => {
    const at = error instanceof PosternError ? byUse.indexOf(error.code) : -1;
    return at < 0 ? byUse.length : at;
  };
  const all = [...failures.values()];
  // That the name leads back to the door is all that there is to know, by whichever address.
  const loop = all.find((error) => error instanceof PosternError && error.detail === "loop");
  if (loop instanceof PosternError) return loop;
  const best = all.reduce((a, b) => rank(b) < rank(a) ? b : a);
  const { code = "unreachable", detail = undefined, hint = undefined } = best instanceof PosternError
    ? best
    : {};
  return new PosternError(code, `Cannot reach ${formatTarget({ host: name, port })}`, {
    cause: best,
    reason: sharedReason(name, all) ?? saidOfAll(failures),
    detail,
    hint,
  });
}

/** Which address of this machine it was says nothing where all of them failed alike. */
function sharedReason(name: string, failures: readonly unknown[]): string | undefined {
  const [first] = failures;
  if (!isLoopbackHost(name) || !(first instanceof PosternError)) return undefined;
  const isShared = failures.every((error) => error instanceof PosternError && error.reason === first.reason);
  return isShared ? first.reason : undefined;
}

/** Each reason with the addresses that gave it. */
function saidOfAll(failures: ReadonlyMap<string, unknown>): string {
  const said = new Map<string, string[]>();
  for (const [address, error] of [...failures].slice(0, mostNamed)) {
    const reason = reasonOf(error);
    said.set(reason, [...said.get(reason) ?? [], address]);
  }
  const texts = [...said].map(([reason, addresses]) => `${reason} (${addresses.join(", ")})`);
  if (failures.size > mostNamed) texts.push(`and ${failures.size - mostNamed} more`);
  return texts.join(", ");
}

function familyOf(address: string): 4 | 6 {
  return address.includes(":") ? 6 : 4;
}
