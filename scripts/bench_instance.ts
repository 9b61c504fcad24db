import { startPeers, startPostern } from "./bench_contenders.ts";
import {
  type BenchPlace,
  field,
  measure,
  measureAnew,
  measureAtOnce,
  type Measurement,
  type Want,
} from "./bench_measure.ts";
import type { Verdict } from "./bench_table.ts";

/** The size of the measurements. */
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

/** Only checks that every measurement works; its numbers are meaningless. */
const smoke: Size = {
  rounds: 1,
  megabytes: 100,
  exchanges: 1000,
  idle: 200,
  restSeconds: 1,
  quietSeconds: 2,
};

/** Allows more clients than the default limit, which would refuse some idle clients. */
const roomy = "default: direct\nlisten: { limits: { connections: 20000 } }\n";

/** Compares an instance with other SOCKS5 servers. */
export async function benchInstance({ isSmoke, directory, generator }: BenchPlace): Promise<Verdict[]> {
  const size = isSmoke ? smoke : full;
  await using started = new AsyncDisposableStack();
  const others = await startPeers(directory, started);
  const verdicts: Verdict[] = [];
  const start = () => startPostern(directory, roomy);
  for (const measurement of sideBySide(size)) {
    await using postern = await start();
    verdicts.push(...await measure(measurement, [postern, ...others], { generator, rounds: size.rounds }));
  }
  for (const measurement of held(size)) {
    verdicts.push(...await measureAnew(measurement, [start], { generator, rounds: size.rounds }));
  }
  return [...verdicts, ...await measureAtOnce(quiet(size), start, { generator, rounds: size.rounds })];
}

function sideBySide(size: Size): Measurement[] {
  const bulk = ["-mb", `${size.megabytes}`];
  const small = ["-n", `${size.exchanges}`, "-warm", `${size.exchanges / 2}`];
  const single = ["-c", "1", "-n", `${size.exchanges / 5}`, "-warm", "200"];
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
      wants: [
        { name: "one at a time, p50 ms", demand: { atMost: 1.1, ofBest: "lowest" }, value: field("p50_ms") },
      ],
    },
  ];
}

/** Measures the memory of idle connections, with absolute demands. */
function held({ idle, restSeconds }: Size): Measurement[] {
  const options = ["-n", `${idle}`, "-rest", `${restSeconds}s`];
  return [
    {
      mode: "idle",
      options,
      wants: [
        { name: "idle, kB per connection", demand: { atMost: 20 }, value: field("kB_per_conn") },
        { name: "idle, connections refused", demand: { atMost: 0 }, value: field("refused") },
      ],
    },
    {
      mode: "idle",
      options: [...options, "-carry", "1"],
      wants: [
        {
          name: "idle after 1 MB each, kB per connection",
          demand: { atMost: 30 },
          value: field("kB_per_conn"),
        },
      ],
    },
  ];
}

function quiet({ quietSeconds }: Size): Measurement {
  return {
    mode: "wait",
    options: ["-rest", `${quietSeconds}s`],
    wants: [{ name: "no traffic, % of a core", demand: { atMost: 0.2 }, value: field("cpu_percent") }],
  };
}
