import { describe } from "../src/words/mod.ts";
import { liveOf, statusOf } from "../tests/faults/process_accounts.ts";
import { type WayName, wayNames, WholeWorld, worldPeers } from "../tests/faults/whole_world.ts";
import { startReady } from "./bench_contenders.ts";
import { findPeers } from "./find_peers.ts";
import { judgeSoak, quarters, type SoakSample, soakText } from "./soak_quarters.ts";

const usage = "deno task soak [--minutes 60] [--rate 200] [--ways direct,one,…] [--samples FILE]";

/** Longer than postern keeps a connection without half-close open for a client that has sent its end. */
const quietSeconds = 45;

/** The interval of checks whether this process runs, and the delay that counts as a suspension, in ms. */
const lookEvery = 100;
const leastStandstill = 500;

const stopping = ["SIGINT", "SIGTERM"] as const;

/**
 * Opens many short connections over every protocol and transport for a long time and checks that the
 * instance's resources do not grow.
 */
if (import.meta.main) Deno.exit(await soak(Deno.args));

interface SoakOptions {
  readonly minutes: number;
  /** Connections a second. */
  readonly rate: number;
  readonly ways: readonly WayName[];
  /** A file for all samples, one per line. */
  readonly samples: string | undefined;
}

async function soak(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (!options) {
    console.error(`usage: ${usage}`);
    return 2;
  }
  const found = await findPeers();
  const missing = [...worldPeers, "loadgen" as const].flatMap((name) => {
    const at = found[name];
    return "missing" in at ? [`${name}: ${at.missing}`] : [];
  });
  if (missing.length > 0) {
    console.error(`soak: error: ${missing.join("; ")}; install them with: deno task peers`);
    return 1;
  }
  const paths = Object.fromEntries(
    Object.entries(found).flatMap(([name, at]) => "path" in at ? [[name, at.path]] : []),
  ) as Record<typeof worldPeers[number] | "loadgen", string>;
  await using started = new AsyncDisposableStack();
  const targets: Partial<Record<WayName, number>> = {};
  for (const way of wayNames) {
    const origin = started.use(await startReady(`the origin for ${way}`, [paths.loadgen, "origin"]));
    targets[way] = Number(origin.address.split(":")[1]);
  }
  const world = started.use(await WholeWorld.start(paths, targets as Record<WayName, number>));
  const samples = await load(paths.loadgen, world, options);
  const { connections } = liveOf(await statusOf(world.home));
  for (const [event, count] of eventsOf(world)) console.log(`${count} × ${event}`);
  const told = quarters(samples);
  console.log(soakText(told));
  const problems = judgeSoak(samples, told, { connections: connections ?? 0 });
  for (const problem of problems) console.log(`missed: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

/** Runs the load generator and regularly queries the instance; the last sample is the final state. */
async function load(generator: string, world: WholeWorld, options: SoakOptions): Promise<SoakSample[]> {
  const { instance, ways } = world;
  const asked = ways.filter(({ name }) => options.ways.some((way) => way === name)).map(({ target }) =>
    `${target.host}:${target.port}`
  );
  const seconds = Math.round(options.minutes * 60);
  const child = new Deno.Command(generator, {
    args: [
      ...["soak", "-proxy", await instance.address(), "-pid", `${instance.pid}`, "-target", asked.join(",")],
      ...["-per", `${options.rate}`, "-for", `${seconds}s`, "-every", "5s", "-rest", `${quietSeconds}s`],
    ],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  // A signal to this script also stops the load generator.
  const stop = () => child.kill();
  for (const signal of stopping) Deno.addSignalListener(signal, stop);
  const samples: SoakSample[] = [];
  let sessions = 0;
  let unanswered = 0;
  let text = "";
  using _watch = watchStandstills();
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (samples.length % 6 === 0) {
        try {
          sessions = await sessionsOf(world);
        } catch (error) {
          // Continue the load: its later results matter more than an early exit.
          unanswered++;
          console.log(describe(error));
        }
      }
      const sample = { ...JSON.parse(line), sessions, unanswered };
      samples.push(sample);
      if (options.samples !== undefined) {
        await Deno.writeTextFile(options.samples, `${JSON.stringify(sample)}\n`, { append: true });
      }
      if (samples.length % 12 === 0) console.log(line);
    }
  }
  const { success, signal } = await child.status;
  for (const signal of stopping) Deno.removeSignalListener(signal, stop);
  if (success) return samples;
  throw new Error(signal === "SIGTERM" ? "stopped by a signal" : "the load generator failed");
}

/** Reports suspensions of this process: failures at that time do not indicate a defect of the instance. */
function watchStandstills(): Disposable {
  const start = performance.now();
  let before = start;
  const timer = setInterval(() => {
    const now = performance.now();
    const late = now - before - lookEvery;
    if (late > leastStandstill) {
      const seconds = (ms: number) => (ms / 1000).toFixed(1);
      console.log(`${seconds(now - start)} s: this process was suspended for ${seconds(late)} s`);
    }
    before = now;
  }, lookEvery);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Counts the instance's log events other than the end of a connection. */
function eventsOf({ instance }: WholeWorld): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of instance.stderr.split("\n")) {
    const [event] = /\b[a-z_]+\.[a-z_]+\b/.exec(line) ?? [];
    const [outcome = ""] = /\b(?:outcome|code)=\S+/.exec(line) ?? [];
    if (event !== undefined) counts.set(`${event} ${outcome}`, (counts.get(`${event} ${outcome}`) ?? 0) + 1);
  }
  return counts;
}

/** Counts the instance's sessions of every kind. */
async function sessionsOf({ home }: WholeWorld): Promise<number> {
  const { transports } = await statusOf(home);
  const counts = transports.flatMap(({ hops = [], clusters = [], sessions }) => [
    ...hops.map((hop) => hop.sessions),
    ...clusters.map((cluster) => cluster.sessions),
    typeof sessions === "number" ? sessions : 0,
  ]);
  return counts.reduce((sum, count) => sum + count, 0);
}

function readOptions(args: readonly string[]): SoakOptions | undefined {
  const rest = [...args];
  const value = (name: string) =>
    rest.includes(name) ? rest.splice(rest.indexOf(name), 2)[1] ?? "" : undefined;
  const [minutes, rate] = [Number(value("--minutes") ?? 60), Number(value("--rate") ?? 200)];
  const samples = value("--samples");
  const named = value("--ways")?.split(",") ?? wayNames;
  const ways = wayNames.filter((way) => named.includes(way));
  const isRight = minutes > 0 && rate > 0 && rest.length === 0 && ways.length === named.length;
  return isRight ? { minutes, rate, ways, samples } : undefined;
}
