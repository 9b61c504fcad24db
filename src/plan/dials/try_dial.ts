import { type Clock, type Transport, within } from "../../core/mod.ts";
import { type Endpoint, formatEndpoint, PosternError, type Target } from "../../words/mod.ts";
import { type DialReport, errorInfo } from "../../control/mod.ts";

export interface TryDialOptions {
  readonly clock: Clock;
  /** The timeout in ms. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Dials a target and closes the connection immediately; a failure is part of the report. */
export async function tryDial(
  transport: Transport,
  target: Target,
  { clock, limit, signal }: TryDialOptions,
): Promise<DialReport> {
  const start = clock.now();
  const steps: { step: string; ms: number }[] = [];
  const since = () => Math.round((clock.now() - start) * 10) / 10;
  const onStep = (step: string) => void steps.push({ step, ms: since() });
  try {
    const conn = await within(
      { clock, ms: limit, signal, error: () => dialTimeout(target, limit) },
      (signal) => transport.dial(target, { signal, onStep }),
    );
    const ms = since();
    await conn[Symbol.asyncDispose]();
    return { ms, steps };
  } catch (error) {
    return { ms: since(), steps, error: errorInfo(error) };
  }
}

/** The error for a client whose target did not answer in time. */
export function dialTimeout(target: Endpoint, ms: number): PosternError {
  return new PosternError(
    "timeout",
    `Cannot reach ${formatEndpoint(target)}: no answer within ${ms / 1000} s`,
    { hint: "raise the timeout: listen.limits.dial" },
  );
}
