import type { Dialer, World } from "../../world/mod.ts";
import { isPosternError } from "../../words/mod.ts";
import type { Log } from "../../core/mod.ts";
import { dialerThroughProxy } from "../../http/mod.ts";
import { listenerOf } from "../../instance/mod.ts";
import { type ConfigSource, loadConfig, Transports } from "../../plan/mod.ts";
import { testEndpoint } from "./endpoint_tests.ts";
import { type Fleet, readFleet } from "../catalogue/fleet.ts";
import { connectInstance } from "../../instances/mod.ts";
import { testJumpHost } from "./jump_host_tests.ts";
import { type ChosenTests, chosenTests, type TestWords } from "./test_choice.ts";
import type { FleetTest } from "./tested_fleet.ts";

export interface TestOptions extends ConfigSource, TestWords {
  /** How long each test may take, in ms; for a jump host besides what is configured for its hosts. */
  readonly limit?: number;
  /** How many at once. */
  readonly parallel: number;
  /** The instance that a person has named; it has to run. */
  readonly id?: string;
  /** Leaves alone a door that runs. */
  readonly isAlone: boolean;
  readonly log: Log;
}

/** The tests of a fleet, each as soon as it has ended. */
export interface TestRun {
  /** The names of what is tested, in order. */
  readonly names: readonly string[];
  /** Whether the clusters are asked through the door that runs. */
  readonly isThroughInstance: boolean;
  /** What a person should know. */
  readonly notes: readonly string[];
  readonly ended: AsyncIterable<{ readonly at: number; readonly test: FleetTest }>;
}

/** How long the address of a cluster may take to answer unless told, in ms: the hosts on the way have to be reached too. */
const usualLimit = 30_000;

/**
 * Signs in to the jump hosts, with sessions of its own, and asks the web addresses of the clusters, through the door
 * that runs or through these sessions. `look` gets what comes of it; everything is closed when that has ended.
 */
export async function testFleet(
  world: World,
  { patterns, exclude, selectors, limit, parallel, id, isAlone, log, ...source }: TestOptions,
  { signal, look }: { readonly signal: AbortSignal; readonly look: (run: TestRun) => Promise<void> },
): Promise<void> {
  await using transports = new Transports(world, await loadConfig(world, source), { log });
  const { plan } = transports;
  for (const { transport } of plan.transports.byName.values()) {
    if (transport.connect) await transport.prepare?.();
  }
  const { clusters, notes } = await fleetIfAny(world, source);
  const chosen = await chosenTests(plan, clusters, { patterns, exclude, selectors });
  const mayUseInstance = chosen.endpoints.length > 0 && !isAlone &&
    (source.config === undefined || id !== undefined);
  const through = mayUseInstance ? await throughInstance(world, { id, signal }) : undefined;
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const tests = testsOf(world, chosen, {
    dial: through ?? transports.dial,
    ...(limit !== undefined && { limit }),
    signal: over,
  });
  const running = startAll(tests.map(({ run }) => run), { parallel, signal: over });
  try {
    await look({
      names: tests.map(({ name }) => name),
      isThroughInstance: through !== undefined,
      notes,
      ended: asTheyEnd(running),
    });
  } finally {
    ending.abort(new DOMException("The test is over", "AbortError"));
    await Promise.allSettled(running);
  }
}

/** No catalogue is no mistake here: there may be jump hosts to try. */
async function fleetIfAny(
  world: World,
  source: ConfigSource,
): Promise<Pick<Fleet, "clusters" | "notes">> {
  try {
    return await readFleet(world, source);
  } catch (error) {
    if (!isPosternError(error, "config") || error.detail !== "no_catalogue") throw error;
    return { clusters: [], notes: [] };
  }
}

interface Test {
  readonly name: string;
  readonly run: () => Promise<FleetTest>;
}

function testsOf(
  world: World,
  { jumpHosts, endpoints }: ChosenTests,
  { dial, limit, signal }: { readonly dial: Dialer; readonly limit?: number; readonly signal: AbortSignal },
): readonly Test[] {
  const { clock } = world;
  return [
    ...jumpHosts.map((one) => ({
      name: one.name,
      run: () => testJumpHost(one, { clock, signal, ...(limit !== undefined && { limit }) }),
    })),
    ...endpoints.map((one) => ({
      name: one.known.name,
      run: () => testEndpoint(world, one, { dial, limit: limit ?? usualLimit, signal }),
    })),
  ];
}

/** A way through the door that runs; undefined where none does, and none has been named. */
async function throughInstance(
  world: World,
  { id, signal }: { readonly id: string | undefined; readonly signal: AbortSignal },
): Promise<Dialer | undefined> {
  try {
    const client = await connectInstance(world, id ?? "default", { signal });
    const { http, socks, proxyUrl = socks } = await client.env({ credentials: true, signal });
    const { listeners } = await client.status({ signal });
    const { listener } = listenerOf({ http, socks });
    // By HTTP a door tells why it does not get somewhere; by SOCKS it has a number for that.
    const takesHttp = listeners.some(({ address, kind }) => address === listener && kind === "mixed");
    return dialerThroughProxy(takesHttp ? http : proxyUrl, { name: "the door", world });
  } catch (error) {
    const isMissing = isPosternError(error, "refused") && error.detail === "no_instance";
    if (!isMissing || id !== undefined) throw error;
    return undefined;
  }
}

/** Starts so many at once; each promise is that of the test in its place. */
function startAll<T>(
  work: readonly (() => Promise<T>)[],
  { parallel, signal }: { readonly parallel: number; readonly signal: AbortSignal },
): readonly Promise<T>[] {
  const results = work.map(() => Promise.withResolvers<T>());
  // Who looks hears of it, and may not look yet.
  for (const { promise } of results) promise.catch(() => {});
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < work.length; at = next++) {
      const result = results[at];
      try {
        signal.throwIfAborted();
        result?.resolve(await (work[at] as () => Promise<T>)());
      } catch (error) {
        result?.reject(error);
      }
    }
  };
  for (let count = 0; count < Math.min(parallel, work.length); count++) void worker();
  return results.map(({ promise }) => promise);
}

async function* asTheyEnd<T>(
  promises: readonly Promise<T>[],
): AsyncGenerator<{ readonly at: number; readonly test: T }> {
  const ended: { readonly at: number; readonly result: PromiseSettledResult<T> }[] = [];
  let more = Promise.withResolvers<void>();
  for (const [at, promise] of promises.entries()) {
    Promise.allSettled([promise]).then(([result]) => {
      ended.push({ at, result });
      more.resolve();
    });
  }
  for (let given = 0; given < promises.length; given++) {
    while (ended.length === given) {
      await more.promise;
      more = Promise.withResolvers();
    }
    const one = ended[given];
    if (one?.result.status === "rejected") throw one.result.reason;
    if (one) yield { at: one.at, test: one.result.value };
  }
}
