import { backoff, type Clock, pause } from "../core/mod.ts";
import { parseIp, unmapped } from "../words/mod.ts";

export interface User {
  readonly name: string;
  readonly password: string;
}

const firstDelay = 100;
const longestDelay = 5000;
/** The failures of a client are forgotten after this time without an attempt, in ms. */
const forgetAfter = 10 * 60_000;
const mostRemembered = 1024;

/** Checks passwords in constant time, with a growing delay for an address that sends wrong ones. */
export class Authenticator {
  readonly #users: readonly User[];
  readonly #clock: Clock;
  /** Oldest first: a full table drops the oldest entry. */
  readonly #failures = new Map<string, { count: number; at: number }>();

  constructor(users: readonly User[], clock: Clock) {
    this.#users = users;
    this.#clock = clock;
  }

  /** Whether `name` and `password` belong to a user; `peer` is the client's address from `Conn.peer`. */
  async check(
    name: string,
    password: string,
    { peer, signal }: { peer: string; signal: AbortSignal },
  ): Promise<boolean> {
    // Loaded here: an instance without passwords does not need it.
    const crypto = await import("node:crypto");
    const address = addressOf(peer);
    // Without a delay, there is no await from here to `#remember`: of many simultaneous guesses only one gets
    // no delay.
    const delay = this.#delayOf(address);
    // The right password is delayed too; otherwise the delay would reveal wrong ones.
    if (delay > 0) await pause(this.#clock, delay, { signal });
    const digest = (text: string) => crypto.createHash("sha256").update(text).digest();
    const [givenName, givenPassword] = [digest(name), digest(password)];
    let isRight = false;
    for (const user of this.#users) {
      const isName = crypto.timingSafeEqual(digest(user.name), givenName);
      const isPassword = crypto.timingSafeEqual(digest(user.password), givenPassword);
      // No early exit: the time must not depend on the user.
      if (isName && isPassword) isRight = true;
    }
    if (isRight) this.#failures.delete(address);
    else this.#remember(address);
    return isRight;
  }

  #delayOf(address: string): number {
    const known = this.#failures.get(address);
    if (!known || this.#clock.now() - known.at > forgetAfter) return 0;
    return backoff(known.count - 1, { first: firstDelay, most: longestDelay });
  }

  #remember(address: string): void {
    const known = this.#failures.get(address);
    const isRecent = known && this.#clock.now() - known.at <= forgetAfter;
    this.#failures.delete(address);
    this.#failures.set(address, { count: isRecent ? known.count + 1 : 1, at: this.#clock.now() });
    if (this.#failures.size <= mostRemembered) return;
    for (const [oldest] of this.#failures) return void this.#failures.delete(oldest);
  }
}

/**
 * The address without its port; for IPv6 the /64 network, since one machine can use all its addresses. A
 * wildcard listener reports IPv4 clients as IPv4-mapped addresses; those count as IPv4.
 */
function addressOf(peer: string): string {
  const host = peer.replace(/:[0-9]+$/, "").replace(/^\[(.*)\]$/, "$1");
  const bytes = parseIp(host);
  return bytes ? unmapped(bytes).subarray(0, 8).join(".") : host;
}
