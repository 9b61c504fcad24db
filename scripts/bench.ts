import settings from "../deno.json" with { type: "json" };
import { startPeers, startPostern } from "./bench_doors.ts";
import { benchFleet } from "./bench_fleet.ts";
import { type BenchPlace, field, measure, type Measurement, told, type Want } from "./bench_measure.ts";
import { benchKonnectivity } from "./bench_konnectivity.ts";
import { benchKubernetes } from "./bench_kubernetes.ts";
import { benchSsh } from "./bench_ssh.ts";
import { benchJson, benchPicture, type BenchReport } from "./bench_report.ts";
import { hasCollapsed, judge, type Sample, type Verdict } from "./bench_table.ts";
import { findPeer } from "./find_peers.ts";
import { peers } from "./peer_table.ts";

/** How much to measure. */
interface Size {
  readonly rounds: number;
  readonly megabytes: number;
  readonly exchanges: number;
  readonly idle: number;
  readonly restSeconds: number;
  readonly quietSeconds: number;
}

const full: Size = {
  rounds: 7,
  megabytes: 1000,
  exchanges: 10_000,
  idle: 5000,
  restSeconds: 10,
  quietSeconds: 60,
};

/** Enough to see that every measurement works; its numbers decide nothing. */
const smoke: Size = {
  rounds: 1,
  megabytes: 100,
  exchanges: 1000,
  idle: 200,
  restSeconds: 1,
  quietSeconds: 2,
};

/** What is measured, by the name that `--only` takes. */
const parts: readonly { readonly name: string; readonly run: (place: BenchPlace) => Promise<Verdict[]> }[] = [
  { name: "door", run: benchDoor },
  { name: "ssh", run: benchSsh },
  { name: "fleet", run: benchFleet },
  { name: "kubernetes", run: benchKubernetes },
  { name: "konnectivity", run: benchKonnectivity },
];

/** More clients at once than a laptop has: the usual limit would turn some of the idle ones away. */
const roomy = "default: direct\nlisten: { limits: { connections: 20000 } }\n";

/** Measures postern against its peers, round by round in turns, and says what was missed. */
if (import.meta.main) Deno.exit(await bench(Deno.args));

function measurements(size: Size): Measurement[] {
  const bulk = ["-mb", `${size.megabytes}`];
  const small = ["-n", `${size.exchanges}`, "-warm", `${size.exchanges / 2}`];
  const single = ["-c", "1", "-n", `${size.exchanges / 5}`, "-warm", "200"];
  const held = ["-n", `${size.idle}`, "-rest", `${size.restSeconds}s`];
  const gigabytes = size.megabytes / 1000;
  const best = { ofBest: "highest" } as const;
  const cpu: Want = {
    name: "CPU seconds per GB",
    demand: { atMost: 1.5, of: "go-socks5" },
    value: (answer) => field("cpu_s")(answer) / gigabytes,
  };
  return [
    {
      mode: "bulk",
      options: bulk,
      wants: [
        { name: "one stream down, MB/s", demand: { atLeast: 1.2, ...best }, value: field("MB_per_s") },
        cpu,
      ],
    },
    {
      mode: "bulk",
      options: [...bulk, "-up"],
      wants: [
        { name: "one stream up, MB/s", demand: { atLeast: 1.0, ...best }, value: field("MB_per_s") },
      ],
    },
    {
      mode: "rate",
      options: small,
      rounds: Math.min(size.rounds, 3),
      wants: [
        {
          name: "32 at once, exchanges per second",
          demand: { atLeast: 0.9, ...best },
          value: field("per_s"),
        },
        { name: "32 at once, p99 ms", demand: { atMost: 1.2, ofBest: "lowest" }, value: field("p99_ms") },
      ],
    },
    {
      mode: "rate",
      options: single,
      rounds: Math.min(size.rounds, 3),
      wants: [
        { name: "one at a time, p50 ms", demand: { atMost: 1.1, ofBest: "lowest" }, value: field("p50_ms") },
      ],
    },
    {
      mode: "idle",
      options: held,
      isOwn: true,
      wants: [
        { name: "idle, kB a connection", demand: { atMost: 20 }, value: field("kB_per_conn") },
        { name: "idle, connections refused", demand: { atMost: 0 }, value: field("refused") },
      ],
    },
    {
      mode: "idle",
      options: [...held, "-carry", "1"],
      isOwn: true,
      wants: [
        {
          name: "idle after 1 MB each, kB a connection",
          demand: { atMost: 30 },
          value: field("kB_per_conn"),
        },
      ],
    },
    {
      mode: "wait",
      options: ["-rest", `${size.quietSeconds}s`],
      isOwn: true,
      wants: [{ name: "nothing to do, % of a core", demand: { atMost: 0.2 }, value: field("cpu_percent") }],
    },
  ];
}

/** Runs the parts that are asked for; its exit code. */
async function bench(args: readonly string[]): Promise<number> {
  const isSmoke = args.includes("--smoke");
  const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : undefined;
  if (only !== undefined && !parts.some(({ name }) => name === only)) {
    console.error(`bench: error: --only takes one of ${parts.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  const found = await findPeer(peers.loadgen);
  if ("missing" in found) throw new Error(`Cannot measure: ${found.missing}`);
  const directory = await Deno.makeTempDir({ prefix: "postern-bench-" });
  try {
    const verdicts: Verdict[] = [];
    for (const { name, run } of parts) {
      if (only === undefined || only === name) {
        verdicts.push(...await run({ isSmoke, directory, generator: found.path }));
      }
    }
    const missed = verdicts.filter(({ holds }) => !holds).length;
    console.log(`bench: ${verdicts.length - missed} held, ${missed} missed`);
    await writeReport({ ...place(), isSmoke, verdicts });
    if (!isSmoke) return missed === 0 ? 0 : 1;
    const collapsed = verdicts.filter(hasCollapsed);
    for (const { text } of collapsed) console.log(`collapsed: ${text}`);
    console.log("bench: too short to decide anything but a collapse: run it without --smoke");
    return collapsed.length === 0 ? 0 : 1;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function place(): Pick<BenchReport, "version" | "runtime" | "date" | "cores"> {
  return {
    version: settings.version,
    runtime: `Deno ${Deno.version.deno}`,
    date: new Date().toISOString().slice(0, 10),
    cores: navigator.hardwareConcurrency,
  };
}

/** Writes what was measured into `dist/`: for programs, and as a picture. */
async function writeReport(report: BenchReport): Promise<void> {
  const directory = new URL("../dist/", import.meta.url);
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(new URL("bench.json", directory), benchJson(report));
  await Deno.writeTextFile(new URL("bench.svg", directory), benchPicture(report));
  console.log("bench: wrote dist/bench.json and dist/bench.svg");
}

async function benchDoor({ isSmoke, directory, generator }: BenchPlace): Promise<Verdict[]> {
  const size = isSmoke ? smoke : full;
  await using started = new AsyncDisposableStack();
  const others = await startPeers(directory, started);
  const verdicts: Verdict[] = [];
  for (const measurement of measurements(size)) {
    // A door of its own for each: memory that one left behind is not held against the next.
    await using postern = await startPostern(directory, roomy);
    const doors = measurement.isOwn ? [postern] : [postern, ...others];
    const rounds = measurement.isOwn ? 1 : measurement.rounds ?? size.rounds;
    verdicts.push(...await measure(measurement, doors, { generator, rounds }));
  }
  return [...verdicts, ...await measureStarts(size, directory)];
}

/** How long a door takes until it is ready, by where its rules are. */
async function measureStarts(size: Size, directory: string): Promise<Verdict[]> {
  const list = `${directory}/routes.txt`;
  const names = Array.from({ length: 10_000 }, (_, at) => `host-${at}.example.net`);
  await Deno.writeTextFile(list, names.map((name) => `${name} blocked`).join("\n") + "\n");
  const start = "transports: { blocked: { reject: not here } }\n";
  const inline = `routes:\n${names.map((name) => `  - { to: ${name}, via: blocked }\n`).join("")}`;
  const cases = [
    { name: "start with 10,000 rules in a list, ms", config: `${start}routesFrom: ${list}\n`, atMost: 400 },
    { name: "start with 10,000 rules in YAML, ms", config: `${start}${inline}`, atMost: 1500 },
  ];
  const verdicts: Verdict[] = [];
  for (const { name, config, atMost } of cases) {
    const samples: Sample[] = [];
    for (let round = 0; round < Math.min(size.rounds, 5); round++) {
      await using door = await startPostern(directory, config);
      samples.push({ door: "postern", value: door.startMs });
    }
    verdicts.push(told(judge(name, samples, { atMost })));
  }
  return verdicts;
}
