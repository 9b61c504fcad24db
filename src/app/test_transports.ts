import { type Clock, type HopStatus, type Log, PosternError, within, type World } from "../core/mod.ts";
import { type ErrorInfo, errorInfo } from "../listeners/mod.ts";
import type { BuiltTransport } from "../transports/mod.ts";
import { closedDoor } from "./closed_door.ts";
import { type ConfigSource, loadConfig } from "./config_file.ts";

/** How signing in wherever a transport leads went. */
export interface TransportTest {
  readonly name: string;
  readonly type: string;
  readonly ok: boolean;
  readonly ms: number;
  /** The hosts on the way, nearest first, and how long each of them took. */
  readonly hops: readonly { readonly host: string; readonly address: string; readonly ms?: number }[];
  readonly error?: ErrorInfo;
}

export interface TestOptions extends ConfigSource {
  /** Names of transports or hosts, with `*` and `?`; none is all. */
  readonly patterns: readonly string[];
  /** How long each transport may take, in ms, besides what is configured for each host. */
  readonly limit?: number;
  readonly log: Log;
}

/** The tests of a configuration, each as soon as it has ended. */
export interface TestRun {
  /** In the order of the configuration. */
  readonly names: readonly string[];
  readonly ended: AsyncIterable<TransportTest>;
}

/**
 * Signs in through every transport that can, all at once and beside any door that runs, and hands `look` what comes
 * of it. Everything is closed when that has ended.
 */
export async function testTransports(
  world: World,
  { patterns, limit, log, ...source }: TestOptions,
  { signal, look }: { readonly signal: AbortSignal; readonly look: (run: TestRun) => Promise<void> },
): Promise<void> {
  await using door = closedDoor(world, await loadConfig(world, source), log);
  const built = [...door.plan.transports.byName.values()].filter(({ transport }) => transport.connect);
  for (const { transport } of built) await transport.prepare?.();
  const chosen = chosenOf(built, patterns);
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const tests = chosen.map((one) =>
    testOne(one, { clock: world.clock, signal: over, ...(limit !== undefined && { limit }) })
  );
  try {
    await look({ names: chosen.map(({ name }) => name), ended: asTheyEnd(tests) });
  } finally {
    ending.abort(new DOMException("The test is over", "AbortError"));
    await Promise.allSettled(tests);
  }
}

function chosenOf(built: readonly BuiltTransport[], patterns: readonly string[]): BuiltTransport[] {
  if (patterns.length === 0) return [...built];
  const names = (one: BuiltTransport) => [
    one.name,
    ...typeof one.settings === "string" ? [one.settings] : [],
    ...one.transport.status?.().hops?.map(({ host }) => host) ?? [],
  ];
  const chosen = new Set<BuiltTransport>();
  for (const pattern of patterns) {
    const found = built.filter((one) => names(one).some((name) => globOf(pattern).test(name)));
    if (found.length === 0) {
      const known = built.map(({ name }) => name).join(", ");
      throw new PosternError("usage", `Cannot test "${pattern}": no ssh transport or host has that name`, {
        hint: known === "" ? "the configuration has no ssh transport" : `known transports are ${known}`,
      });
    }
    for (const one of found) chosen.add(one);
  }
  return built.filter((one) => chosen.has(one));
}

async function testOne(
  { name, type, transport }: BuiltTransport,
  { clock, limit, signal }: { clock: Clock; limit?: number; signal: AbortSignal },
): Promise<TransportTest> {
  const begun = { at: clock.now(), date: clock.date().getTime() };
  const connect = (signal: AbortSignal) => Promise.resolve(transport.connect?.({ signal }));
  const seconds = (limit ?? 0) / 1000;
  const late = () => new PosternError("timeout", `Cannot connect "${name}": not done within ${seconds} s`);
  let failure: { readonly error: unknown } | undefined;
  try {
    if (limit === undefined) await connect(signal);
    else await within({ clock, ms: limit, signal, error: late }, connect);
  } catch (error) {
    signal.throwIfAborted();
    failure = { error };
  }
  const ms = Math.round((clock.now() - begun.at) * 10) / 10;
  const hops = timesOf(transport.status?.().hops ?? [], begun.date);
  return { name, type, ok: !failure, ms, hops, ...(failure && { error: errorInfo(failure.error) }) };
}

/** How long each host took, by the moment at which it was ready: another transport may have brought it there. */
function timesOf(hops: readonly HopStatus[], begun: number): TransportTest["hops"] {
  let before = begun;
  return hops.map(({ host, address, state, since }) => {
    if (state !== "ready") return { host, address };
    const ready = Math.max(before, Date.parse(since));
    const ms = ready - before;
    before = ready;
    return { host, address, ms };
  });
}

async function* asTheyEnd<T>(promises: readonly Promise<T>[]): AsyncGenerator<T> {
  const waiting = new Map(promises.map((promise, at) => [at, promise.then((value) => ({ at, value }))]));
  while (waiting.size > 0) {
    const { at, value } = await Promise.race(waiting.values());
    waiting.delete(at);
    yield value;
  }
}

/** `*` is any text, `?` any character. */
function globOf(pattern: string): RegExp {
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${source}$`, "is");
}
