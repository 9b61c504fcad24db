import { backoff, type Clock, pause } from "../core/mod.ts";
import { parseIp, unmapped } from "../words/mod.ts";

/** Someone who may use the door. */
export interface User {
  readonly name: string;
  readonly password: string;
}

const firstDelay = 100;
const longestDelay = 5000;
/** A client that has been quiet for so long starts anew. */
const forgetAfter = 10 * 60_000;
const mostRemembered = 1024;

/** Checks passwords in constant time, and ever more slowly for an address that keeps being wrong. */
export class Authenticator {
  readonly #users: readonly User[];
  readonly #clock: Clock;
  /** The oldest first, so that a full table forgets those first. */
  readonly #failures = new Map<string, { count: number; at: number }>();

  constructor(users: readonly User[], clock: Clock) {
    this.#users = users;
    this.#clock = clock;
  }

  /** Whether `name` and `password` belong to a user; `peer` is the client's address as `Conn.peer` says it. */
  async check(
    name: string,
    password: string,
    { peer, signal }: { peer: string; signal: AbortSignal },
  ): Promise<boolean> {
    // Loaded here and not at the top: a door without passwords need not pay for it.
    const crypto = await import("node:crypto");
    const address = addressOf(peer);
    // Nothing is waited for between this and the first check, so that of many guesses at once one is free.
    const delay = this.#delayOf(address);
    // The right password waits as well, or the wait would tell the wrong one.
    if (delay > 0) await pause(this.#clock, delay, { signal });
    const digest = (text: string) => crypto.createHash("sha256").update(text).digest();
    const [givenName, givenPassword] = [digest(name), digest(password)];
    let isRight = false;
    for (const user of this.#users) {
      const isName = crypto.timingSafeEqual(digest(user.name), givenName);
      const isPassword = crypto.timingSafeEqual(digest(user.password), givenPassword);
      // Every user is looked at, whoever it was.
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
 * The address without its port; of IPv6 the network, since one machine has all of it to choose from. IPv4 comes as IPv6
 * to a door on all addresses, and is nobody's network there.
 */
function addressOf(peer: string): string {
  const host = peer.replace(/:[0-9]+$/, "").replace(/^\[(.*)\]$/, "$1");
  const bytes = parseIp(host);
  return bytes ? unmapped(bytes).subarray(0, 8).join(".") : host;
}
