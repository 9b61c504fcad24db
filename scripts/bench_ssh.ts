import type { Contender } from "./bench_contenders.ts";
import {
  type BenchPlace,
  field,
  generate,
  measure,
  measureAnew,
  measureAtOnce,
  type Measurement,
} from "./bench_measure.ts";
import { measureCold, measureDelayed } from "./bench_ssh_far.ts";
import { loopback, startSshBench } from "./bench_ssh_contenders.ts";
import { connectThrough } from "./bench_socks.ts";
import type { Verdict } from "./bench_table.ts";

interface Size {
  readonly rounds: number;
  readonly megabytes: number;
  readonly exchanges: number;
  readonly idle: number;
  readonly quietSeconds: number;
}

const full: Size = { rounds: 5, megabytes: 500, exchanges: 10_000, idle: 1000, quietSeconds: 60 };
const smoke: Size = { rounds: 1, megabytes: 50, exchanges: 500, idle: 50, quietSeconds: 2 };

/** Compares postern with `ssh -D` through the same ssh hosts. */
export async function benchSsh(place: BenchPlace): Promise<Verdict[]> {
  const size = place.isSmoke ? smoke : full;
  return [
    ...await measureNear(place, size),
    ...await measureProgram(place, size),
    ...await measureCold(place),
    ...await measureDelayed(place),
    ...await measureQuiet(place, size),
  ];
}

/** Measures through one host on loopback. */
async function measureNear({ directory, generator }: BenchPlace, size: Size): Promise<Verdict[]> {
  await using bench = await startSshBench(directory, [{ name: "near", lines: loopback }]);
  if (!bench) return [];
  // The session exists and the code is warm: measureCold() measures a cold start.
  const warm = async (starting: Promise<Contender>) => {
    const contender = await starting;
    await generate(generator, contender, { mode: "rate", options: ["-n", "300"] });
    return contender;
  };
  const start = () => warm(bench.postern(["transports: { near: { ssh: near } }", "default: near"]));
  const startPeer = () => warm(bench.dynamicForward("near"));
  const verdicts: Verdict[] = [];
  const { rounds } = size;
  await using peer = await startPeer();
  for (const measurement of sideBySide(size)) {
    await using postern = await start();
    verdicts.push(...await measure(measurement, [postern, peer], { generator, rounds }));
  }
  verdicts.push(...await measureAnew(idle(size), [start, startPeer], { generator, rounds }));
  return [...verdicts, ...await measureAnew(grown(size), [start], { generator, rounds })];
}

function sideBySide({ megabytes, exchanges }: Size): Measurement[] {
  const bulk = ["-mb", `${megabytes}`];
  const of = { of: "ssh -D" } as const;
  const single = ["-c", "1", "-n", `${exchanges / 5}`, "-warm", "200"];
  return [
    {
      mode: "bulk",
      options: bulk,
      wants: [
        { name: "ssh: one stream down, MB/s", demand: { atLeast: 0.5, ...of }, value: field("MB_per_s") },
      ],
    },
    {
      mode: "bulk",
      options: [...bulk, "-up"],
      wants: [
        { name: "ssh: one stream up, MB/s", demand: { atLeast: 0.5, ...of }, value: field("MB_per_s") },
      ],
    },
    {
      mode: "rate",
      options: ["-n", `${exchanges}`],
      wants: [
        {
          name: "ssh: 32 at once, exchanges per second",
          demand: { atLeast: 0.7, ...of },
          value: field("per_s"),
        },
      ],
    },
    {
      mode: "rate",
      options: single,
      wants: [
        { name: "ssh: one at a time, p50 ms", demand: { atMost: 1.5, ...of }, value: field("p50_ms") },
        { name: "ssh: one at a time, p99 ms", demand: { atMost: 5 }, value: field("p99_ms") },
      ],
    },
  ];
}

function idle({ idle }: Size): Measurement {
  return {
    mode: "idle",
    options: ["-n", `${idle}`],
    wants: [{ name: "ssh: idle, kB per connection", demand: "informative", value: field("kB_per_conn") }],
  };
}

/**
 * Detects leaks: runs three times as many exchanges as V8 leaves uncollected, so a leaked kilobyte per
 * exchange shows.
 */
function grown({ exchanges }: Size): Measurement {
  return {
    mode: "rate",
    options: ["-c", "2", "-n", `${exchanges * 3}`, "-warm", `${exchanges}`, "-grown", "-rest", "5s"],
    wants: [
      {
        name: `ssh: more kB after ${exchanges * 3} exchanges`,
        demand: { atMost: exchanges * 3 },
        value: field("grown_kB"),
      },
      {
        name: `ssh: more descriptors after ${exchanges * 3} exchanges`,
        demand: { atMost: 0 },
        value: field("grown_files"),
      },
    ],
  };
}

/** Measures through one host with `engine: openssh`. */
async function measureProgram({ directory, generator }: BenchPlace, size: Size): Promise<Verdict[]> {
  await using bench = await startSshBench(directory, [{ name: "near", lines: loopback }]);
  if (!bench) return [];
  await using peer = await bench.dynamicForward("near");
  await using postern = await bench.postern(
    ["transports: { near: { ssh: near } }", "default: near"],
    { openssh: "near" },
  );
  const contenders = [postern, peer];
  for (const contender of contenders) {
    const answer = await generate(generator, contender, { mode: "rate", options: ["-n", "300"] });
    if (typeof answer === "string") {
      console.log(`skipped: engine openssh: ${answer}`);
      return [];
    }
  }
  const verdicts: Verdict[] = [];
  for (const measurement of programMeasurements(size)) {
    verdicts.push(...await measure(measurement, contenders, { generator, rounds: size.rounds }));
  }
  return verdicts;
}

function programMeasurements({ megabytes, exchanges }: Size): Measurement[] {
  const bulk = ["-mb", `${megabytes}`];
  const demand = { atLeast: 0.9, of: "ssh -D" } as const;
  const value = field("MB_per_s");
  return [
    {
      mode: "bulk",
      options: bulk,
      wants: [{ name: "engine openssh: one stream down, MB/s", demand, value }],
    },
    {
      mode: "bulk",
      options: [...bulk, "-up"],
      wants: [{ name: "engine openssh: one stream up, MB/s", demand, value }],
    },
    {
      mode: "rate",
      options: ["-n", `${exchanges}`],
      wants: [
        {
          name: "engine openssh: 32 at once, exchanges per second",
          demand: "informative",
          value: field("per_s"),
        },
      ],
    },
  ];
}

/** Measures an instance with ten idle sessions. */
async function measureQuiet({ directory, generator }: BenchPlace, size: Size): Promise<Verdict[]> {
  const names = Array.from({ length: 10 }, (_, at) => `quiet${at}`);
  await using bench = await startSshBench(directory, names.map((name) => ({ name, lines: loopback })));
  if (!bench) return [];
  const start = async () => {
    const postern = await bench.postern([
      "transports:",
      ...names.map((name) => `  ${name}: { ssh: ${name} }`),
      "routes:",
      ...names.map((name, at) => `  - { to: 127.0.1.${at}, via: ${name} }`),
    ]);
    // No process listens there, and only the ssh host can detect that.
    const open = await Promise.all(
      names.map((_, at) => connectThrough(postern.address, `127.0.1.${at}:1`)),
    );
    for (const { conn } of open) conn.close();
    // V8 collects the garbage from startup and sign-in only after half a minute of idle time.
    await generate(generator, postern, { mode: "wait", options: ["-rest", `${size.quietSeconds / 1.5}s`] });
    return postern;
  };
  const quiet: Measurement = {
    mode: "wait",
    options: ["-rest", `${size.quietSeconds}s`],
    wants: [
      {
        name: "ssh: ten idle sessions, % of a core",
        demand: { atMost: 0.2 },
        value: field("cpu_percent"),
      },
    ],
  };
  return await measureAtOnce(quiet, start, { generator, rounds: size.rounds });
}
