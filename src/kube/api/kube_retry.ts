import { backoff } from "../../core/mod.ts";

/** How many times a request is retried after a server error; the longest and the first delay, in ms. */
const mostAttempts = 3;
const longestDelay = 10_000;
const firstDelay = 250;

export interface RetryQuestion {
  readonly status: number;
  /** `Retry-After` in seconds; a date is ignored. */
  readonly retryAfter: string | undefined;
  /** The number of retries so far. */
  readonly attempt: number;
  readonly random: () => number;
}

/** The delay before the next retry; undefined if the request must not be retried. */
export function retryDelay({ status, retryAfter, attempt, random }: RetryQuestion): number | undefined {
  if (attempt >= mostAttempts || (status !== 429 && status < 500)) return undefined;
  if (retryAfter !== undefined && /^[0-9]{1,6}$/.test(retryAfter)) {
    const asked = Number(retryAfter) * 1000;
    // If the server asks for minutes, the caller gets the response: users do not wait that long.
    return asked > longestDelay ? undefined : asked + random() * firstDelay;
  }
  // A 500 without Retry-After is more often a real answer than a glitch.
  return backoff(attempt, { first: firstDelay }) * (0.5 + random());
}
