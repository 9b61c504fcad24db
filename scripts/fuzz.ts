import { corpusDirectory, readCorpus } from "../tests/fuzz/corpus.ts";
import { diceOf, makeInput, smallest } from "../tests/fuzz/fuzz_inputs.ts";
import type { Bytes, FuzzTarget } from "../tests/fuzz/fuzz_target.ts";
import { fuzzTargets } from "../tests/fuzz/targets/mod.ts";

const usage = "deno task fuzz [NAME…] [--inputs 20000] [--seed N] [--list]";

/** The time limit for one input in ms: a peer could block a slower reader. */
const longest = 5000;

/** Runs readers on malformed inputs; reduces an input that breaks a law and stores it in the corpus. */
if (import.meta.main) Deno.exit(await fuzz(Deno.args));

interface FuzzOptions {
  readonly targets: readonly FuzzTarget[];
  readonly inputs: number;
  readonly seed: number;
}

async function fuzz(args: readonly string[]): Promise<number> {
  if (args.includes("--list")) {
    for (const { name } of fuzzTargets) console.log(name);
    return 0;
  }
  const options = readOptions(args);
  if (typeof options === "string") {
    console.error(`fuzz: error: ${options}\nusage: ${usage}`);
    return 2;
  }
  let failures = 0;
  for (const target of options.targets) failures += await fuzzOne(target, options);
  return failures === 0 ? 0 : 1;
}

/** Stops at the first input that breaks a law: the next ones usually fail for the same reason. */
async function fuzzOne(target: FuzzTarget, { inputs, seed }: FuzzOptions): Promise<number> {
  const kept = await readCorpus(target);
  const corpus = kept.map(({ bytes }) => bytes);
  const dice = diceOf(seed);
  const started = performance.now();
  let failure: Failure | undefined;
  let count = 0;
  for (; count < inputs && !failure; count++) {
    failure = await broken(target, corpus[count] ?? makeInput(dice, { corpus, words: target.words }));
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `${target.name}: ${count} inputs, ${corpus.length} of them from the corpus, ${seconds} s, ` +
      `${failure ? 1 : 0} failures (seed ${seed})`,
  );
  if (!failure) return 0;
  const { error } = failure;
  const least = await smallest(failure.input, async (input) => await broken(target, input) !== undefined);
  console.log(error instanceof Error ? error.stack : error);
  console.log(`reduced to ${least.length} bytes: ${least.toHex()}`);
  const place = new URL(`found-${await nameOf(least)}`, corpusDirectory(target));
  await Deno.writeFile(place, least);
  console.log(`stored in ${decodeURIComponent(place.pathname)}`);
  return 1;
}

interface Failure {
  readonly input: Bytes;
  readonly error: unknown;
}

async function broken(target: FuzzTarget, input: Bytes): Promise<Failure | undefined> {
  let took = Infinity;
  // On a busy machine a process may pause for seconds: an input is slow only if it is slow every time.
  for (let tries = 0; took > longest && tries < 3; tries++) {
    const started = performance.now();
    try {
      // A copy, because the reader may change its input.
      const running = target.laws(input.slice());
      if (running) await running;
    } catch (error) {
      return { input, error };
    }
    took = performance.now() - started;
  }
  return took > longest ? { input, error: new Error(`the reader took ${Math.round(took)} ms`) } : undefined;
}

async function nameOf(bytes: Bytes): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex().slice(0, 12);
}

function readOptions(args: readonly string[]): FuzzOptions | string {
  const rest = [...args];
  const value = (name: string) =>
    rest.includes(name) ? rest.splice(rest.indexOf(name), 2)[1] ?? "" : undefined;
  const inputs = Number(value("--inputs") ?? 20_000);
  const seed = Number(value("--seed") ?? Date.now() % 1_000_000_000);
  if (!(inputs >= 1) || !Number.isInteger(seed)) return "--inputs and --seed must be numbers";
  const unknown = rest.filter((name) => !fuzzTargets.some((target) => target.name === name));
  if (unknown.length > 0) return `unknown reader: ${unknown.join(", ")}; see --list`;
  return {
    inputs,
    seed,
    targets: rest.length === 0 ? fuzzTargets : fuzzTargets.filter(({ name }) => rest.includes(name)),
  };
}
