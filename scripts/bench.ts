import { type BenchDoor, startPeers, startPostern } from "./bench_doors.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";
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

/** More clients at once than a laptop has: the usual limit would turn some of the idle ones away. */
const roomy = "default: direct\nlisten: { limits: { connections: 20000 } }\n";

/** Measures postern against its peers, round by round in turns, and says what was missed. */
if (import.meta.main) Deno.exit(await bench(Deno.args.includes("--smoke")));

/** One run of the load generator against one door. */
interface Measurement {
  readonly mode: "rate" | "bulk" | "idle" | "wait";
  readonly options: readonly string[];
  /** The numbers wanted from the generator's answer, each with what must hold. */
  readonly wants: readonly Want[];
  /** Only postern is measured: the demand is absolute. */
  readonly isOwn?: true;
  readonly rounds?: number;
}

interface Want {
  readonly name: string;
  readonly demand: Demand;
  readonly value: (answer: Readonly<Record<string, number>>) => number;
}

function measurements(size: Size): Measurement[] {
  const bulk = ["-mb", `${size.megabytes}`];
  const small = ["-n", `${size.exchanges}`, "-warm", `${size.exchanges / 2}`];
  const single = ["-c", "1", "-n", `${size.exchanges / 5}`, "-warm", "200"];
  const held = ["-n", `${size.idle}`, "-rest", `${size.restSeconds}s`];
  const gigabytes = size.megabytes / 1000;
  const number = (key: string) => (answer: Readonly<Record<string, number>>) => answer[key] ?? NaN;
  const best = { ofBest: "highest" } as const;
  const cpu: Want = {
    name: "CPU seconds per GB",
    demand: { atMost: 1.5, of: "go-socks5" },
    value: (answer) => (answer["cpu_s"] ?? NaN) / gigabytes,
  };
  return [
    {
      mode: "bulk",
      options: bulk,
      wants: [
        { name: "one stream down, MB/s", demand: { atLeast: 1.2, ...best }, value: number("MB_per_s") },
        cpu,
      ],
    },
    {
      mode: "bulk",
      options: [...bulk, "-up"],
      wants: [
        { name: "one stream up, MB/s", demand: { atLeast: 1.0, ...best }, value: number("MB_per_s") },
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
          value: number("per_s"),
        },
        { name: "32 at once, p99 ms", demand: { atMost: 1.2, ofBest: "lowest" }, value: number("p99_ms") },
      ],
    },
    {
      mode: "rate",
      options: single,
      rounds: Math.min(size.rounds, 3),
      wants: [
        { name: "one at a time, p50 ms", demand: { atMost: 1.1, ofBest: "lowest" }, value: number("p50_ms") },
      ],
    },
    {
      mode: "idle",
      options: held,
      isOwn: true,
      wants: [
        { name: "idle, kB a connection", demand: { atMost: 20 }, value: number("kB_per_conn") },
        { name: "idle, connections refused", demand: { atMost: 0 }, value: number("refused") },
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
          value: number("kB_per_conn"),
        },
      ],
    },
    {
      mode: "wait",
      options: ["-rest", `${size.quietSeconds}s`],
      isOwn: true,
      wants: [{ name: "nothing to do, % of a core", demand: { atMost: 0.2 }, value: number("cpu_percent") }],
    },
  ];
}

async function bench(isSmoke: boolean): Promise<number> {
  const size = isSmoke ? smoke : full;
  const directory = await Deno.makeTempDir({ prefix: "postern-bench-" });
  try {
    const verdicts = [...await measureAll(size, directory), ...await measureStarts(size, directory)];
    const missed = verdicts.filter(({ holds }) => !holds).length;
    console.log(`bench: ${verdicts.length - missed} held, ${missed} missed`);
    if (isSmoke) console.log("bench: too short to decide anything: run it without --smoke");
    return isSmoke || missed === 0 ? 0 : 1;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function measureAll(size: Size, directory: string): Promise<Verdict[]> {
  const generator = await findPeer(peers.loadgen);
  if ("missing" in generator) throw new Error(`Cannot measure: ${generator.missing}`);
  await using started = new AsyncDisposableStack();
  const others = await startPeers(directory, started);
  const verdicts: Verdict[] = [];
  for (const measurement of measurements(size)) {
    // A door of its own for each: memory that one left behind is not held against the next.
    await using postern = await startPostern(directory, roomy);
    const doors = measurement.isOwn ? [postern] : [postern, ...others];
    const samples = measurement.wants.map((): Sample[] => []);
    const failed = new Set<BenchDoor>();
    for (let round = 0; round < (measurement.isOwn ? 1 : measurement.rounds ?? size.rounds); round++) {
      for (const door of doors) {
        if (failed.has(door)) continue;
        const answer = await generate(generator.path, door, measurement);
        if (typeof answer === "string") {
          if (door === postern) throw new Error(answer);
          console.log(`skipped: ${answer}`);
          failed.add(door);
          continue;
        }
        measurement.wants.forEach((want, at) =>
          samples[at]?.push({ door: door.name, value: want.value(answer) })
        );
      }
    }
    measurement.wants.forEach((want, at) => {
      const verdict = judge(want.name, samples[at] ?? [], want.demand);
      console.log(verdict.text);
      verdicts.push(verdict);
    });
  }
  return verdicts;
}

/** The numbers, or why there are none: not every peer bears every load. */
async function generate(
  generator: string,
  door: BenchDoor,
  { mode, options }: Measurement,
): Promise<Record<string, number> | string> {
  const args = [mode, "-door", door.address, "-pid", `${door.pid}`, ...options];
  const { success, stdout, stderr } = await new Deno.Command(generator, { args, stdin: "null" }).output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  return `Cannot measure ${door.name} (${mode}): ${new TextDecoder().decode(stderr).trim()}`;
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
    const verdict = judge(name, samples, { atMost });
    console.log(verdict.text);
    verdicts.push(verdict);
  }
  return verdicts;
}
