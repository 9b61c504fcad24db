import { DelayedLine } from "../tests/support/delayed_line.ts";
import { type BenchPlace, field, generate, measure, type Measurement, told } from "./bench_measure.ts";
import { firstByteThrough, Greeter } from "./bench_socks.ts";
import { loopback, type SshBench, startSshBench } from "./bench_ssh_contenders.ts";
import { judge, type Sample, type Verdict } from "./bench_table.ts";

/** The delay of the line in each direction, in ms. */
const delay = 50;

/** Compares the time to the first byte through three hosts, without sessions, with `ssh -J`. */
export async function measureCold({ isSmoke, directory }: BenchPlace): Promise<Verdict[]> {
  await using bench = await startSshBench(directory, [
    { name: "first", lines: loopback },
    { name: "second", lines: loopback },
    { name: "third", lines: (server) => [...loopback(server), "ProxyJump first,second"] },
  ]);
  if (!bench) return [];
  const samples = await coldSamples(bench, {
    host: "third",
    rounds: isSmoke ? 1 : 9,
    peerName: "ssh -J",
  });
  const demand = { atMost: 0.8, of: "ssh -J" } as const;
  return [told(judge("ssh: three hops without sessions, ms to the first byte", samples, demand))];
}

/** Measures through a distant host. */
export async function measureDelayed({ isSmoke, directory, generator }: BenchPlace): Promise<Verdict[]> {
  await using lines = new AsyncDisposableStack();
  const far = {
    name: "far",
    lines: (server: { readonly port: number }) => {
      const line = lines.use(DelayedLine.start(server.port, { ms: delay }));
      return [...loopback(line), `HostKeyAlias [127.0.0.1]:${server.port}`];
    },
  };
  await using bench = await startSshBench(directory, [far]);
  if (!bench) return [];
  const verdicts = [await signInFarAway(bench, { isSmoke })];
  await using peer = await bench.dynamicForward("far");
  await using postern = await bench.postern(["transports: { far: { ssh: far } }", "default: far"]);
  const contenders = [postern, peer];
  for (const contender of contenders) {
    await generate(generator, contender, { mode: "bulk", options: ["-mb", "1"] });
  }
  for (const measurement of farMeasurements(isSmoke)) {
    verdicts.push(...await measure(measurement, contenders, { generator, rounds: isSmoke ? 1 : 5 }));
  }
  return verdicts;
}

function farMeasurements(isSmoke: boolean): Measurement[] {
  const value = field("MB_per_s");
  const size = ["-mb", isSmoke ? "20" : "200"];
  return [
    {
      mode: "bulk",
      options: size,
      wants: [{
        name: `ssh: ${delay} ms away, one stream down, MB/s`,
        demand: { atLeast: 2, of: "ssh -D" },
        value,
      }],
    },
    {
      mode: "bulk",
      options: [...size, "-up"],
      wants: [{
        name: `ssh: ${delay} ms away, one stream up, MB/s`,
        demand: { atLeast: 0.95, of: "ssh -D" },
        value,
      }],
    },
  ];
}

/** Counts round trips: with this delay the total time shows their number. */
async function signInFarAway(bench: SshBench, { isSmoke }: Pick<BenchPlace, "isSmoke">): Promise<Verdict> {
  const samples = await coldSamples(bench, {
    host: "far",
    rounds: isSmoke ? 1 : 5,
    peerName: "ssh -W",
  });
  const trips = samples.map(({ contender, value }) => ({
    contender,
    value: Math.floor(value / (2 * delay)),
  }));
  const name = `ssh: ${delay} ms away, round trips to the first byte without a session`;
  return told(judge(name, trips, { atMost: 1, of: "ssh -W" }));
}

interface ColdRun {
  readonly host: string;
  readonly rounds: number;
  readonly peerName: string;
}

/** Measures postern when it is ready but has no session, and ssh from its start. */
async function coldSamples(bench: SshBench, { host, rounds, peerName }: ColdRun): Promise<Sample[]> {
  await using greeter = new Greeter();
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) {
    await using postern = await bench.postern([`transports: { way: { ssh: ${host} } }`, "default: way"]);
    samples.push({ contender: "postern", value: await firstByteThrough(postern.address, greeter.address) });
    samples.push({
      contender: peerName,
      value: await firstByteOfSsh(bench, { host, target: greeter.address }),
    });
  }
  return samples;
}

async function firstByteOfSsh(
  { ssh, config }: SshBench,
  { host, target }: { readonly host: string; readonly target: string },
): Promise<number> {
  const start = performance.now();
  const child = new Deno.Command(ssh, {
    args: ["-F", config, "-W", target, host],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { done } = await reader.read();
  const ms = performance.now() - start;
  await reader.cancel();
  await child.status;
  if (done) throw new Error(`Cannot measure ssh: received no data through ${host}`);
  return ms;
}
