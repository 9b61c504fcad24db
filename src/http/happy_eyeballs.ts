import type { Clock, Conn } from "../core/mod.ts";
import { type ErrorCode, formatTarget, isLoopbackHost, PosternError, reasonOf } from "../words/mod.ts";

/** The delay before the next address is tried in parallel, in ms (RFC 8305, section 5). */
const connectionAttemptDelay = 250;

export interface FirstConnectedOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The target's name for the error. */
  readonly name: string;
  readonly port: number;
}

export type Connect = (address: string, options: { signal: AbortSignal }) => Promise<Conn>;

/**
 * Alternates address families, starting with the family of the first address: the resolver has already
 * applied RFC 6724 (RFC 8305, section 4).
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

/**
 * Returns the first successful connection. Starts the attempts in the given order, each a little after the
 * previous one.
 */
export function firstConnected(
  addresses: readonly string[],
  connect: Connect,
  options: FirstConnectedOptions,
): Promise<Conn> {
  const [only] = addresses;
  if (only !== undefined && addresses.length === 1) return connected(only, connect, options);
  return new Race(addresses, connect, options).run();
}

/** Connects to a single address, without a race and with the dial's own signal. */
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

/** One race: the first connection stops all other attempts, and late connections are closed. */
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

/** The most useful code first: a refusal, then no route, then a timeout. */
const byUse: readonly ErrorCode[] = ["refused", "unreachable", "timeout"];
const mostNamed = 4;

/** Combines all failures: the most useful code, and the reason of each address. */
function noneAnswered(
  failures: ReadonlyMap<string, unknown>,
  { name, port }: { readonly name: string; readonly port: number },
): PosternError {
  const rank = (error: unknown) => {
    const at = error instanceof PosternError ? byUse.indexOf(error.code) : -1;
    return at < 0 ? byUse.length : at;
  };
  const all = [...failures.values()];
  // A loop back to this instance explains the failure of every address.
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

/** Omit this machine's addresses if all of them failed for the same reason. */
function sharedReason(name: string, failures: readonly unknown[]): string | undefined {
  const [first] = failures;
  if (!isLoopbackHost(name) || !(first instanceof PosternError)) return undefined;
  const isShared = failures.every((error) => error instanceof PosternError && error.reason === first.reason);
  return isShared ? first.reason : undefined;
}

/** Lists each reason with its addresses. */
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
