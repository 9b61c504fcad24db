import { type BenchPlace, field, generate, measure, type Measurement } from "./bench_measure.ts";
import { measureCold, measureDelayed } from "./bench_ssh_far.ts";
import { loopback, startSshBench } from "./bench_ssh_doors.ts";
import { connectThrough } from "./bench_socks.ts";
import type { Verdict } from "./bench_table.ts";

interface Size {
  readonly rounds: number;
  readonly megabytes: number;
  readonly exchanges: number;
  readonly idle: number;
  readonly quietSeconds: number;
}

const full: Size = { rounds: 7, megabytes: 500, exchanges: 10_000, idle: 1000, quietSeconds: 60 };
const smoke: Size = { rounds: 1, megabytes: 50, exchanges: 500, idle: 50, quietSeconds: 2 };

/** Measures postern through ssh hosts beside `ssh -D` through the same. */
export async function benchSsh(place: BenchPlace): Promise<Verdict[]> {
  const size = place.isSmoke ? smoke : full;
  return [
    ...await measureNear(place, size),
    ...await measureCold(place),
    ...await measureDelayed(place),
    ...await measureQuiet(place, size),
  ];
}

/** Through one host, with nothing between. */
async function measureNear({ directory, generator }: BenchPlace, size: Size): Promise<Verdict[]> {
  await using bench = await startSshBench(directory, [{ name: "near", lines: loopback }]);
  if (!bench) return [];
  await using peer = await bench.dynamicForward("near");
  const verdicts: Verdict[] = [];
  for (const measurement of measurements(size)) {
    await using postern = await bench.postern(["transports: { near: { ssh: near } }", "default: near"]);
    const doors = measurement.isOwn ? [postern] : [postern, peer];
    // The session is there, and the code is warm: what is cold is measured apart.
    for (const door of doors) await generate(generator, door, { mode: "rate", options: ["-n", "300"] });
    const rounds = measurement.isOwn ? 1 : measurement.rounds ?? size.rounds;
    verdicts.push(...await measure(measurement, doors, { generator, rounds }));
  }
  return verdicts;
}

function measurements({ megabytes, exchanges, idle }: Size): Measurement[] {
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
    {
      mode: "idle",
      options: ["-n", `${idle}`],
      rounds: 1,
      wants: [
        { name: "ssh: idle, kB a connection", demand: "informative", value: field("kB_per_conn") },
      ],
    },
    {
      // In turn and not at once: what stays is counted, and peaks of what is under way are not.
      mode: "rate",
      options: ["-c", "1", "-n", `${exchanges}`, "-warm", `${exchanges}`, "-grown"],
      isOwn: true,
      wants: [
        {
          name: `ssh: kB more after ${exchanges} exchanges`,
          demand: { atMost: 10_000 },
          value: field("grown_kB"),
        },
        {
          name: `ssh: descriptors more after ${exchanges} exchanges`,
          demand: { atMost: 0 },
          value: field("grown_files"),
        },
      ],
    },
  ];
}

/** A door that has ten sessions and nothing to do but to keep them. */
async function measureQuiet({ directory, generator }: BenchPlace, size: Size): Promise<Verdict[]> {
  const names = Array.from({ length: 10 }, (_, at) => `quiet${at}`);
  await using bench = await startSshBench(directory, names.map((name) => ({ name, lines: loopback })));
  if (!bench) return [];
  await using postern = await bench.postern([
    "transports:",
    ...names.map((name) => `  ${name}: { ssh: ${name} }`),
    "routes:",
    ...names.map((name, at) => `  - { to: 127.0.1.${at}, via: ${name} }`),
  ]);
  // Nobody listens there, which only the ssh host can know.
  const open = await Promise.all(
    names.map((_, at) => connectThrough(postern.address, `127.0.1.${at}:1`)),
  );
  for (const { conn } of open) conn.close();
  const quiet: Measurement = {
    mode: "wait",
    options: ["-rest", `${size.quietSeconds}s`],
    wants: [
      {
        name: "ssh: ten sessions and nothing to do, % of a core",
        demand: { atMost: 0.2 },
        value: field("cpu_percent"),
      },
    ],
  };
  // What starting and signing in left behind is collected within a moment, which is not idleness yet.
  await generate(generator, postern, { mode: "wait", options: ["-rest", "3s"] });
  return await measure(quiet, [postern], { generator, rounds: 1 });
}
