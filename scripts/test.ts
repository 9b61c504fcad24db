import { findPeers, peersDirectory } from "./find_peers.ts";
import { type Found, foundPeersVariable } from "./peer_table.ts";
import { programTests } from "./program_tests.ts";
import { runAsGroup } from "./process_group.ts";
import { hiddenEnvironment, type TestGroup, testGroups } from "./test_groups.ts";
import {
  exactly,
  readNames,
  readOutcomes,
  settle,
  summarize,
  type TestOutcome,
  type TestSummary,
} from "./test_outcome.ts";

const usage =
  `deno task test [--verbose] [--filter TEXT] [--cannot-pass FILE] [--limit SECONDS] [--jobs COUNT] [--again COUNT] [--of-program] [--summary FILE] [PATH…]`;

/** The maximum of parallel jobs: some tests measure time, so more jobs disturb each other on any machine. */
const mostJobs = 3;

/**
 * The number of files per process if several run at once: few, so that all processes end at about the same
 * time.
 */
const batchSize = 4;

/** Runs the tests, each group with exactly its permissions, and prints the reasons of skipped tests. */
if (import.meta.main) Deno.exit(await runTests(readOptions(Deno.args)));

interface TestOptions {
  readonly isVerbose: boolean;
  readonly filter: string | undefined;
  /** A file with the names of tests that cannot pass with the runtime of POSTERN_BIN. */
  readonly cannotPass: string | undefined;
  /** The time limit for one process in seconds: a test that hangs must fail. */
  readonly limit: number;
  /** The number of parallel processes for tests with real programs, which wait most of the time. */
  readonly jobs: number;
  /**
   * If at most this many tests of a group fail, they run once more, alone. A test that then passes is
   * reported and does not count as failed: on a busy machine a test with real programs may fail for lack of
   * resources.
   */
  readonly again: number;
  /** Skips tests that never start the program, because they do not depend on the compiled one. */
  readonly isOfProgram: boolean;
  /** A file that gets the numbers as JSON, for CI. */
  readonly summary: string | undefined;
  readonly paths: readonly string[];
}

function readOptions(args: readonly string[]): TestOptions {
  const rest = [...args];
  const flag = (name: string) => rest.includes(name) && rest.splice(rest.indexOf(name), 1).length > 0;
  const value = (name: string) => rest.includes(name) ? rest.splice(rest.indexOf(name), 2)[1] : undefined;
  const options = {
    isVerbose: flag("--verbose"),
    isOfProgram: flag("--of-program"),
    filter: value("--filter"),
    cannotPass: value("--cannot-pass"),
    limit: Number(value("--limit") ?? 1200),
    jobs: Number(value("--jobs") ?? Math.min(navigator.hardwareConcurrency, mostJobs)),
    again: Number(value("--again") ?? 0),
    summary: value("--summary"),
    paths: rest.map((path) => path.replace(/^\.\//, "")),
  };
  if (rest.some((word) => word.startsWith("-"))) {
    console.error(`usage: ${usage}`);
    Deno.exit(2);
  }
  return options;
}

async function runTests(options: TestOptions): Promise<number> {
  const root = decodeURIComponent(new URL("../", import.meta.url).pathname).replace(/\/$/, "");
  Deno.chdir(root);
  const found = await findPeers();
  const temporary = await Deno.realPath(await Deno.makeTempDir({ prefix: "postern-test-" }));
  try {
    const groups = testGroups({
      root,
      temporary,
      deno: Deno.execPath(),
      compiled: Deno.env.get("POSTERN_BIN"),
      peers: Object.values<Found>(found).flatMap((peer) => "path" in peer ? [peer.path] : []),
      environment: [peersDirectory()],
    });
    const environment = {
      ...Deno.env.toObject(),
      TMPDIR: temporary,
      NO_COLOR: "1",
      [foundPeersVariable]: JSON.stringify(found),
    };
    const chosen = await Promise.all(
      groups.map(async (group) => {
        const paths = await pathsOf(group, options.paths);
        if (!options.isOfProgram) return { group, paths };
        const files = (await Promise.all(paths.map(testsIn))).flat();
        return { group, paths: await programTests(files, Deno.readTextFile) };
      }),
    );
    if (!await prepare(chosen.flatMap(({ paths }) => paths))) return 1;
    const summaries: GroupSummary[] = [];
    for (const { group, paths } of chosen) {
      if (paths.length === 0 || summaries.at(-1)?.isLast) continue;
      const before = performance.now();
      summaries.push(await runGroup(group, { paths, environment, temporary, options }));
      console.log(`== ${group.name} took ${((performance.now() - before) / 1000).toFixed(1)} s`);
    }
    return await conclude(summaries, options);
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

/** Fetches missing packages and checks the types, with the environment of the machine. */
async function prepare(paths: readonly string[]): Promise<boolean> {
  if (paths.length === 0) return true;
  const args = ["test", "--no-run", "--quiet", ...Deno.env.has("CI") ? ["--frozen"] : [], ...paths];
  const { success } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" }).spawn().status;
  if (!success) console.log("failed: the tests do not compile");
  return success;
}

interface GroupRun {
  readonly paths: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly temporary: string;
  readonly options: TestOptions;
}

interface GroupSummary extends TestSummary {
  /** Whether the user interrupted the run. */
  readonly isLast?: boolean;
}

async function runGroup(group: TestGroup, run: GroupRun): Promise<GroupSummary> {
  const { options } = run;
  console.log(`== ${group.name}${options.isVerbose ? `: ${group.flags.join(" ")}` : ""}`);
  const runs = await runBatches(group, run);
  const isLast = runs.some(({ stopped }) => stopped === "interrupted");
  const cannotPass = options.cannotPass === undefined
    ? []
    : readNames(await Deno.readTextFile(options.cannotPass));
  const first = runs.flatMap(({ outcomes }) => outcomes);
  const outcomes = isLast ? first : await tryAgain(group, run, { first, cannotPass });
  const summary = summarize(outcomes, {
    mustRunAll: Deno.env.get("POSTERN_REQUIRE_PEERS") === "1",
    cannotPass,
    ...(options.filter !== undefined && { filter: options.filter }),
  });
  const ends = runs.flatMap((run) => untimelyEnd(run, options)).map((end) => `${group.name}: ${end}`);
  return { ...summary, failures: [...summary.failures, ...ends], isLast };
}

/** Splits the files of a group into batches and runs several batches at once. */
async function runBatches(group: TestGroup, run: GroupRun): Promise<BatchEnd[]> {
  const { filter, jobs } = run.options;
  if (group.isParallel || jobs === 1) return [await runOnce(group, run, { filter })];
  const files = (await Promise.all(run.paths.map(testsIn))).flat();
  const batches = Array.from(
    { length: Math.ceil(files.length / batchSize) },
    (_, at) => files.slice(at * batchSize, (at + 1) * batchSize),
  );
  const ends: BatchEnd[] = [];
  let next = 0;
  const work = async () => {
    while (next < batches.length && !ends.some(({ stopped }) => stopped === "interrupted")) {
      const number = next++;
      const paths = batches[number] ?? [];
      ends.push(await runOnce(group, { ...run, paths }, { filter, number }));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return ends;
}

/** Returns the failures of a process itself, in addition to failed tests. */
function untimelyEnd({ code, stopped, outcomes, paths }: BatchEnd, { limit }: TestOptions): string[] {
  if (stopped === "late") return [`hung: killed after ${limit} s: ${paths.join(" ")}`];
  if (stopped) return [stopped];
  if (code === 0 || outcomes.some(({ state }) => state === "failed")) return [];
  return [`ended with exit code ${code} before its tests: ${paths.join(" ")}`];
}

async function tryAgain(
  group: TestGroup,
  run: GroupRun,
  { first, cannotPass }: { first: readonly TestOutcome[]; cannotPass: readonly string[] },
): Promise<readonly TestOutcome[]> {
  const failed = first.filter(({ name, state }) => state === "failed" && !cannotPass.includes(name));
  if (failed.length === 0 || failed.length > run.options.again) return first;
  console.log(`\n== ${group.name}, repeating failed tests: ${failed.map(({ name }) => name).join("; ")}`);
  const second = await runOnce(group, run, { filter: exactly(failed.map(({ name }) => name)) });
  const { outcomes, recovered } = settle(first, second.outcomes);
  for (const name of recovered) console.log(`\nunsteady: ${name}: failed, then passed when repeated`);
  return outcomes;
}

interface BatchEnd {
  readonly code: number;
  readonly stopped: "late" | "interrupted" | undefined;
  readonly outcomes: readonly TestOutcome[];
  readonly paths: readonly string[];
}

/** Runs one process of tests; a number means that several run at once, so their output must not mix. */
async function runOnce(
  group: TestGroup,
  { paths, environment: whole, temporary, options }: GroupRun,
  { filter, number }: { readonly filter: string | undefined; readonly number?: number },
): Promise<BatchEnd> {
  const report = `${temporary}/${group.name}${number === undefined ? "" : `-${number}`}.xml`;
  await Deno.remove(report).catch(nothingWhenMissing);
  const flags = [
    ...group.flags,
    // prepare() has checked all of them.
    "--no-check",
    `--junit-path=${report}`,
    `--reporter=${options.isVerbose ? "pretty" : "dot"}`,
  ];
  if (group.isParallel) flags.push("--parallel");
  if (Deno.env.has("CI")) flags.push("--frozen");
  const environment = Object.entries(whole)
    .filter(([name]) => group.keepsEnvironment || !hiddenEnvironment.includes(name));
  if (filter !== undefined) flags.push("--filter", filter);
  const { code, stopped } = await runAsGroup(Deno.execPath(), {
    args: ["test", "--no-prompt", "--quiet", ...flags, ...paths],
    env: Object.fromEntries(environment),
    clearEnv: true,
  }, { limit: options.limit, passOn: number === undefined ? passOn : passOnWhole });
  const outcomes = readOutcomes(await Deno.readTextFile(report).catch(nothingWhenMissing));
  return { code, stopped, outcomes, paths };
}

/** Prints the output of the tests while they run, with dots on one line. */
async function passOn(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  for await (const piece of output.pipeThrough(new TextDecoderStream())) await write(oneRow(piece));
}

/** Prints the output at the end. */
async function passOnWhole(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  let said = "";
  for await (const piece of output.pipeThrough(new TextDecoderStream())) said += piece;
  await write(oneRow(said));
}

function oneRow(dots: string): string {
  return dots.replace(/^([.,!])\n/gm, "$1");
}

async function write(text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
}

async function conclude(summaries: readonly TestSummary[], options: TestOptions): Promise<number> {
  const skipped = summaries.flatMap((summary) => summary.skipped);
  const failures = summaries.flatMap((summary) => summary.failures);
  const passed = summaries.reduce((sum, summary) => sum + summary.passed, 0);
  for (const skip of skipped) console.log(`skipped: ${skip}`);
  for (const failure of failures) console.log(`failed: ${failure}`);
  console.log(`tests: ${passed} passed, ${failures.length} failed, ${skipped.length} skipped`);
  if (options.summary !== undefined) {
    const counts = { passed, failed: failures.length, skipped: skipped.length };
    await Deno.writeTextFile(options.summary, JSON.stringify(counts) + "\n");
  }
  if (passed === 0) console.log("failed: no test ran");
  return failures.length === 0 && passed > 0 ? 0 : 1;
}

/** Returns the existing directories of a group, limited to the requested paths. */
async function pathsOf(group: TestGroup, asked: readonly string[]): Promise<string[]> {
  const paths = asked.length === 0
    ? group.directories
    : group.directories.flatMap((directory) =>
      asked.flatMap((path) => {
        const isBelow = `${path}/`.startsWith(`${directory}/`);
        return isBelow ? [path] : directory.startsWith(`${path.replace(/\/$/, "")}/`) ? [directory] : [];
      })
    );
  const present = await Promise.all(paths.map(async (path) => await hasTests(path) ? [path] : []));
  return [...new Set(present.flat())];
}

async function hasTests(path: string): Promise<boolean> {
  return (await testsIn(path)).length > 0;
}

/** Returns the test files of a path in order; none if the directory does not exist. */
async function testsIn(path: string): Promise<string[]> {
  if (path.endsWith("_test.ts")) return [path];
  const found: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      if (isDirectory) found.push(...await testsIn(`${path}/${name}`));
      else if (name.endsWith("_test.ts")) found.push(`${path}/${name}`);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found.sort();
}

function nothingWhenMissing(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "";
  throw error;
}
