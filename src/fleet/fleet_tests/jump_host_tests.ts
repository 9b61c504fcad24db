import { type Clock, type HopStatus, within } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { errorInfo } from "../../control/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import { elapsed, type JumpHostTest } from "./tested_fleet.ts";

export interface JumpHostTestOptions {
  readonly clock: Clock;
  /** Timeout in ms, in addition to the timeouts configured for each host. */
  readonly limit?: number | undefined;
  readonly signal: AbortSignal;
}

/** Signs in to all hosts of a transport. */
export async function testJumpHost(
  { name, type, transport }: BuiltTransport,
  { clock, limit, signal }: JumpHostTestOptions,
): Promise<JumpHostTest> {
  const begun = { at: clock.now(), date: clock.date().getTime() };
  const connect = (signal: AbortSignal) => Promise.resolve(transport.connect?.({ signal }));
  const seconds = (limit ?? 0) / 1000;
  const late = () =>
    new PosternError("timeout", `Cannot connect the transport "${name}": not connected within ${seconds} s`);
  let failure: { readonly error: unknown } | undefined;
  try {
    if (limit === undefined) await connect(signal);
    else await within({ clock, ms: limit, signal, error: late }, connect);
  } catch (error) {
    signal.throwIfAborted();
    failure = { error };
  }
  return {
    kind: "jumphost",
    name,
    type,
    outcome: failure ? "failed" : "ok",
    ms: elapsed(clock, begun.at),
    hops: timesOf(transport.status?.().hops ?? [], begun.date),
    ...(failure && { error: errorInfo(failure.error) }),
  };
}

/**
 * The duration of each host, from the times when they were ready; another transport may have connected some
 * of them.
 */
function timesOf(hops: readonly HopStatus[], begun: number): JumpHostTest["hops"] {
  let before = begun;
  return hops.map(({ host, address, state, since }) => {
    if (state !== "ready") return { host, address };
    const ready = Math.max(before, Date.parse(since));
    const ms = ready - before;
    before = ready;
    return { host, address, ms };
  });
}
