import { type Frontend, frontends } from "../tests/support/konnectivity_lab.ts";
import {
  type KonnectivityBench,
  type KonnectivityPair,
  startKonnectivityBench,
} from "./bench_konnectivity_pairs.ts";
import { type BenchPlace, told } from "./bench_measure.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";

interface Size {
  readonly rounds: number;
  readonly megabytes: number;
  readonly dials: number;
  readonly tunnels: number;
}

const full: Size = { rounds: 5, megabytes: 300, dials: 1000, tunnels: 2000 };
const smoke: Size = { rounds: 1, megabytes: 20, dials: 100, tunnels: 100 };

/** A number in konnload's output, and its demand. */
interface Want {
  readonly name: string;
  readonly args: readonly string[];
  readonly field: string;
  readonly demand: Demand;
}

/**
 * Compares postern's server and agent with those written in Go; the client is upstream's library for both.
 */
export async function benchKonnectivity({ isSmoke, generator }: BenchPlace): Promise<Verdict[]> {
  const size = isSmoke ? smoke : full;
  await using bench = await startKonnectivityBench(generator);
  if (!bench) return [];
  const verdicts: Verdict[] = [];
  for (const frontend of frontends) verdicts.push(...await measureSideBySide(bench, frontend, size));
  for (const frontend of frontends) {
    verdicts.push(...await measureMemory(bench, frontend, size));
    verdicts.push(...await measureStall(bench, frontend, size));
  }
  return verdicts;
}

function wantsOf({ mode }: Frontend, { megabytes, dials }: Size): Want[] {
  const bulk = ["bulk", "-mb", `${megabytes}`];
  const atLeast = mode === "grpc" ? 1.0 : 0.9;
  return [
    { name: "down, MB/s", args: bulk, field: "MB_per_s", demand: { atLeast, of: "Go" } },
    { name: "up, MB/s", args: [...bulk, "-up"], field: "MB_per_s", demand: { atLeast, of: "Go" } },
    {
      name: "32 at once, dials per second",
      args: ["rate", "-n", `${dials}`, "-c", "32", "-warm", `${dials / 5}`],
      field: "per_s",
      demand: { atLeast: 0.7, of: "Go" },
    },
  ];
}

async function measureSideBySide(
  bench: KonnectivityBench,
  frontend: Frontend,
  size: Size,
): Promise<Verdict[]> {
  await using postern = await bench.pair("postern", frontend);
  await using go = await bench.pair("Go", frontend);
  const wants = wantsOf(frontend, size);
  const samples = wants.map((): Sample[] => []);
  for (let round = 0; round < size.rounds; round++) {
    for (const [at, { args, field }] of wants.entries()) {
      for (const pair of [postern, go]) {
        const answer = await load(bench, pair, args);
        samples[at]?.push({ contender: pair.name, value: answer[field] ?? NaN });
      }
    }
  }
  return wants.map(({ name, demand }, at) => told(judge(titled(frontend, name), samples[at] ?? [], demand)));
}

/** Starts new pairs, so that earlier measurements do not affect their memory. */
async function measureMemory(
  bench: KonnectivityBench,
  frontend: Frontend,
  { rounds, tunnels }: Size,
): Promise<Verdict[]> {
  const samples: Record<"server" | "agent" | "failed", Sample[]> = { server: [], agent: [], failed: [] };
  for (let round = 0; round < rounds; round++) {
    for (const name of ["postern", "Go"] as const) {
      await using pair = await bench.pair(name, frontend);
      await load(bench, pair, ["rate", "-n", "200", "-c", "16"]);
      const { server, agent } = pair.pids;
      const answer = await load(bench, pair, ["idle", "-n", `${tunnels}`, "-pids", `${server},${agent}`]);
      samples.server.push({ contender: name, value: answer.kB_0 ?? NaN });
      samples.agent.push({ contender: name, value: answer.kB_1 ?? NaN });
      samples.failed.push({ contender: name, value: answer.failed ?? NaN });
    }
  }
  const of = `${tunnels} open tunnels`;
  return [
    judge(titled(frontend, `${of}, kB per tunnel in the server`), samples.server, { atMost: 40 }),
    judge(titled(frontend, `${of}, kB per tunnel in the agent`), samples.agent, { atMost: 40 }),
    judge(titled(frontend, `${of}, failed`), samples.failed, { atMost: 0 }),
  ].map(told);
}

/** Measures only postern, because upstream hangs here. */
async function measureStall(
  bench: KonnectivityBench,
  frontend: Frontend,
  { rounds }: Size,
): Promise<Verdict[]> {
  const longest: Sample[] = [], failed: Sample[] = [];
  await using pair = await bench.pair("postern", frontend);
  for (let round = 0; round < rounds; round++) {
    const answer = await load(bench, pair, ["stall", "-n", "100"]);
    longest.push({ contender: "postern", value: answer.max_ms ?? NaN });
    failed.push({ contender: "postern", value: answer.failed ?? NaN });
  }
  return [
    judge(titled(frontend, "100 dials next to a stalled reader, longest in ms"), longest, {
      atMost: 100,
    }),
    judge(titled(frontend, "100 dials next to a stalled reader, failed"), failed, { atMost: 0 }),
  ].map(told);
}

function titled({ mode, isSocket }: Frontend, what: string): string {
  const how = mode === "grpc" ? "gRPC" : "CONNECT";
  return `konnectivity: ${how} over ${isSocket ? "a socket" : "TLS"}, ${what}`;
}

async function load(
  { load, origin }: KonnectivityBench,
  pair: KonnectivityPair,
  [mode = "", ...args]: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  const all = [mode, ...pair.way, "-target", origin, ...args];
  const { success, stdout, stderr } = await new Deno.Command(load, { args: all, stdin: "null" }).output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  throw new Error(`Cannot measure ${pair.name} (${mode}): ${new TextDecoder().decode(stderr).trim()}`);
}
