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
  /** Timeout of each test, in ms; for a jump host in addition to the timeouts of its hosts. */
  readonly limit?: number | undefined;
  /** Maximum number of concurrent tests. */
  readonly parallel: number;
  /** The instance that the user named; it must be running. */
  readonly id?: string | undefined;
  /** Ignores a running instance. */
  readonly isAlone: boolean;
  readonly log: Log;
}

/** The tests of a fleet; each result arrives when its test ends. */
export interface TestRun {
  /** The names of the tested hosts and clusters, in order. */
  readonly names: readonly string[];
  /** Whether the tests reach clusters through the running instance. */
  readonly isThroughInstance: boolean;
  /** Notes for the user. */
  readonly notes: readonly string[];
  readonly ended: AsyncIterable<{ readonly at: number; readonly test: FleetTest }>;
}

/** The default timeout of a cluster's address, in ms; includes connecting to the jump hosts. */
const usualLimit = 30_000;

/**
 * Signs in to the jump hosts in separate sessions, and requests the web addresses of the clusters, through
 * the running instance or through these sessions. `look` gets the results; all sessions close when it ends.
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
    limit,
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
    ending.abort(new DOMException("The test has ended", "AbortError"));
    await Promise.allSettled(running);
  }
}

/** A missing catalogue is not an error, because there may be jump hosts to test. */
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
  { dial, limit, signal }: {
    readonly dial: Dialer;
    readonly limit?: number | undefined;
    readonly signal: AbortSignal;
  },
): readonly Test[] {
  const { clock } = world;
  return [
    ...jumpHosts.map((one) => ({
      name: one.name,
      run: () => testJumpHost(one, { clock, signal, limit }),
    })),
    ...endpoints.map((one) => ({
      name: one.known.name,
      run: () => testEndpoint(world, one, { dial, limit: limit ?? usualLimit, signal }),
    })),
  ];
}

/** A dialer through the running instance; undefined if none runs and the user named none. */
async function throughInstance(
  world: World,
  { id, signal }: { readonly id: string | undefined; readonly signal: AbortSignal },
): Promise<Dialer | undefined> {
  try {
    const client = await connectInstance(world, id ?? "default", { signal });
    const { http, socks, proxyUrl = socks } = await client.env({ credentials: true, signal });
    const { listeners } = await client.status({ signal });
    const { listener } = listenerOf({ http, socks });
    // Over HTTP the instance reports why a connection fails; SOCKS has only a code.
    const takesHttp = listeners.some(({ address, kind }) => address === listener && kind === "mixed");
    return dialerThroughProxy(takesHttp ? http : proxyUrl, { name: "instance", world });
  } catch (error) {
    const isMissing = isPosternError(error, "refused") && error.detail === "no_instance";
    if (!isMissing || id !== undefined) throw error;
    return undefined;
  }
}

/** Runs a limited number of tasks at once; each promise belongs to the task at its index. */
function startAll<T>(
  work: readonly (() => Promise<T>)[],
  { parallel, signal }: { readonly parallel: number; readonly signal: AbortSignal },
): readonly Promise<T>[] {
  const results = work.map(() => Promise.withResolvers<T>());
  // The consumer handles a rejection, but may not have started yet.
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
