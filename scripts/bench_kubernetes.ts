import { askingForOrigin, type KubeBench, startKubeBench } from "./bench_kube_contenders.ts";
import { startReady } from "./bench_contenders.ts";
import { type BenchPlace, field, generate, measure, type Measurement, told } from "./bench_measure.ts";
import { loopback, startSshBench } from "./bench_ssh_contenders.ts";
import { judge, type Sample, type Verdict } from "./bench_table.ts";

interface Size {
  readonly rounds: number;
  readonly megabytes: number;
  readonly exchanges: number;
}

const full: Size = { rounds: 5, megabytes: 500, exchanges: 10_000 };
const smoke: Size = { rounds: 1, megabytes: 20, exchanges: 500 };

/** Compares postern with `kubectl port-forward` to the same pod. */
export async function benchKubernetes(place: BenchPlace): Promise<Verdict[]> {
  const size = place.isSmoke ? smoke : full;
  await using bench = await startKubeBench(place.directory);
  if (!bench) return [];
  return [
    ...await measureFirstUse(bench, place, size),
    ...await measureSideBySide(bench, place, size),
    ...await measureCrowd(bench, place, size),
    ...await measureChain(bench, place, size),
  ];
}

/** Measures the wait of the first client: loading code, sign-in, watches and a session. */
async function measureFirstUse(bench: KubeBench, place: BenchPlace, { rounds }: Size): Promise<Verdict[]> {
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) {
    await using postern = await bench.postern();
    const answer = await generate(place.generator, postern, {
      mode: "rate",
      options: ["-c", "1", "-n", "1"],
    });
    if (typeof answer === "string") throw new Error(answer);
    samples.push({ contender: "postern", value: field("p50_ms")(answer) });
    await using kubectl = await bench.kubectl();
    samples.push({ contender: "kubectl until ready", value: kubectl.startMs });
  }
  return [told(judge("kubernetes: first use, ms to the first answer", samples, { atMost: 500 }))];
}

async function measureSideBySide(bench: KubeBench, place: BenchPlace, size: Size): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  await using kubectl = await bench.kubectl();
  await using postern = await bench.postern();
  const contenders = [postern, kubectl];
  for (const contender of contenders) {
    await generate(place.generator, contender, { mode: "rate", options: ["-n", "300"] });
  }
  for (const measurement of measurements(size)) {
    verdicts.push(
      ...await measure(measurement, contenders, { generator: place.generator, rounds: size.rounds }),
    );
  }
  return verdicts;
}

function measurements({ megabytes, exchanges }: Size): Measurement[] {
  const of = { of: "kubectl" } as const;
  const bulk = ["-mb", `${megabytes}`];
  const speed = field("MB_per_s");
  const equal = { atLeast: 1, ...of };
  return [
    {
      mode: "bulk",
      options: bulk,
      wants: [{ name: "kubernetes: one stream down, MB/s", demand: equal, value: speed }],
    },
    {
      mode: "bulk",
      options: [...bulk, "-up"],
      wants: [{ name: "kubernetes: one stream up, MB/s", demand: equal, value: speed }],
    },
    {
      mode: "rate",
      options: ["-n", `${exchanges / 2}`],
      wants: [
        {
          name: "kubernetes: 32 at once, exchanges per second",
          demand: { atLeast: 1.2, ...of },
          value: field("per_s"),
        },
      ],
    },
    {
      mode: "rate",
      options: ["-c", "1", "-n", `${exchanges / 10}`, "-warm", "100"],
      wants: [
        { name: "kubernetes: one at a time, p50 ms", demand: { atMost: 0.8, ...of }, value: field("p50_ms") },
        { name: "kubernetes: one at a time, p99 ms", demand: "informative", value: field("p99_ms") },
      ],
    },
  ];
}

/**
 * Opens more connections than one session handles well; kubectl may fail here, so each round starts a new
 * one.
 */
async function measureCrowd(bench: KubeBench, place: BenchPlace, size: Size): Promise<Verdict[]> {
  const crowd = {
    mode: "rate",
    options: ["-c", "500", "-n", `${Math.max(500, size.exchanges / 2)}`],
  } as const;
  const failures: Sample[] = [];
  const lost: Sample[] = [];
  const connections: Sample[] = [];
  for (let round = 0; round < size.rounds; round++) {
    await using kubectl = await bench.kubectl();
    await using postern = await bench.postern();
    const dials = await generate(place.generator, postern, {
      mode: "rate",
      options: ["-c", "200", "-n", "200", "-api", bench.api],
    });
    if (typeof dials === "string") throw new Error(dials);
    lost.push({ contender: "postern", value: field("failed")(dials) });
    connections.push({ contender: "postern", value: field("api_conns")(dials) });
    for (const contender of [postern, kubectl]) {
      const answer = await generate(place.generator, contender, crowd);
      if (typeof answer !== "string") {
        failures.push({ contender: contender.name, value: field("failed")(answer) });
      } else if (contender === postern) throw new Error(answer);
      else console.log(`skipped: ${answer}`);
    }
  }
  return [
    judge("kubernetes: 200 dials at once to one pod, lost", lost, { atMost: 0 }),
    judge("kubernetes: 200 dials at once to one pod, API connections", connections, { atMost: 4 }),
    judge("kubernetes: 500 at once, failures", failures, { atMost: 0 }),
  ].map(told);
}

/** Compares a cluster through three ssh hosts with TLS to an outside origin through the same hosts. */
async function measureChain(bench: KubeBench, place: BenchPlace, size: Size): Promise<Verdict[]> {
  await using ssh = await startSshBench(place.directory, [
    { name: "first", lines: loopback },
    { name: "second", lines: loopback },
    { name: "third", lines: (server) => [...loopback(server), "ProxyJump first,second"] },
  ]);
  if (!ssh) return [];
  const chain = "  chain: { ssh: third }";
  const lab = `  lab: { kubernetes: { kubeconfig: ${JSON.stringify(bench.kubeconfig)} }, via: chain }`;
  await using through = await ssh.postern(["transports:", chain, lab, "default: lab"], {
    isFromSource: true,
  });
  await using bare = await ssh.postern(["transports:", chain, "default: chain"], { isFromSource: true });
  await using origin = await startReady("origin", [place.generator, "origin", "-tls"]);
  const contenders = [
    askingForOrigin(through),
    {
      ...bare,
      name: "TLS through the same hosts",
      way: ["-proxy", bare.address, "-target", origin.address, "-tls"],
    },
  ];
  for (const contender of contenders) {
    await generate(place.generator, contender, { mode: "rate", options: ["-n", "100"] });
  }
  const verdicts: Verdict[] = [];
  for (const direction of ["down", "up"]) {
    const measurement: Measurement = {
      mode: "bulk",
      options: ["-mb", `${size.megabytes / 2}`, ...direction === "up" ? ["-up"] : []],
      wants: [{
        name: `kubernetes: through three ssh hosts, one stream ${direction}, MB/s`,
        demand: { atLeast: 0.8, of: "TLS through the same hosts" },
        value: field("MB_per_s"),
      }],
    };
    verdicts.push(
      ...await measure(measurement, contenders, { generator: place.generator, rounds: size.rounds }),
    );
  }
  return verdicts;
}
