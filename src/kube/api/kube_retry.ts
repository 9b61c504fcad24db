import { backoff } from "../../core/mod.ts";

/** How often a request is tried again after a server in trouble, and how long that may take each time, in ms. */
const mostAttempts = 3;
const longestDelay = 10_000;
const firstDelay = 250;

export interface RetryQuestion {
  readonly status: number;
  /** `Retry-After`, in seconds; a date counts as none. */
  readonly retryAfter: string | undefined;
  /** How often it has been tried again before. */
  readonly attempt: number;
  readonly random: () => number;
}

/** How long to wait before a request is tried again; undefined where it should not be. */
export function retryDelay({ status, retryAfter, attempt, random }: RetryQuestion): number | undefined {
  if (attempt >= mostAttempts || (status !== 429 && status < 500)) return undefined;
  if (retryAfter !== undefined && /^[0-9]{1,6}$/.test(retryAfter)) {
    const asked = Number(retryAfter) * 1000;
    // Who asks for minutes is told to the caller instead: nobody waits for that.
    return asked > longestDelay ? undefined : asked + random() * firstDelay;
  }
  // A 500 without a word of trying again is an answer more often than an accident.
  return backoff(attempt, { first: firstDelay }) * (0.5 + random());
}
