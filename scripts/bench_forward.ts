import { asForward, type Contender, startOnPort, startReady } from "./bench_contenders.ts";
import { startKubeBench } from "./bench_kube_contenders.ts";
import { type BenchPlace, field, generate, measure, type Measurement, told } from "./bench_measure.ts";
import { loopback, type SshBench, startSshBench } from "./bench_ssh_contenders.ts";
import { judge, type Sample, type Verdict } from "./bench_table.ts";
import { findPeers } from "./find_peers.ts";
import { freePort } from "../tests/support/peer_program.ts";

interface Size {
  readonly rounds: number;
  readonly megabytes: number;
  readonly exchanges: number;
}

const full: Size = { rounds: 5, megabytes: 500, exchanges: 10_000 };
const smoke: Size = { rounds: 1, megabytes: 20, exchanges: 500 };

/** Compares forwards with `ssh -L` through the same server and `kubectl port-forward` to the same pod. */
export async function benchForward(place: BenchPlace): Promise<Verdict[]> {
  const size = place.isSmoke ? smoke : full;
  await using ssh = await startSshBench(place.directory, [{ name: "near", lines: loopback }]);
  const verdicts: Verdict[] = [];
  if (ssh) {
    verdicts.push(...await measureSsh(ssh, place, size));
    verdicts.push(...await measureRedis(ssh, size));
  }
  await using kube = await startKubeBench(place.directory);
  if (!kube) return verdicts;
  await using postern = await kube.forward();
  await using kubectl = await kube.kubectl();
  return [
    ...verdicts,
    ...await sideBySide([postern, kubectl], { name: "kubernetes", of: "kubectl", place, size }),
  ];
}

/** Starts postern with a forward through the ssh host. */
async function startForward(ssh: SshBench, target: string, openssh?: string): Promise<Contender> {
  const at = `127.0.0.1:${freePort()}`;
  const postern = await ssh.postern([
    `listen: { forward: { "${at}": "${target}" } }`,
    "transports: { near: { ssh: near } }",
    "default: near",
  ], openssh === undefined ? {} : { openssh });
  return asForward(postern, at);
}

async function measureSsh(ssh: SshBench, place: BenchPlace, size: Size): Promise<Verdict[]> {
  await using origin = await startReady("origin", [place.generator, "origin"]);
  await using peer = await ssh.localForward("near", origin.address);
  const verdicts: Verdict[] = [];
  for (const engine of ["builtin", "openssh"]) {
    await using postern = await startForward(
      ssh,
      origin.address,
      engine === "openssh" ? "near" : undefined,
    );
    const name = engine === "openssh" ? "engine openssh" : "ssh";
    verdicts.push(...await sideBySide([postern, peer], { name, of: peer.name, place, size }));
  }
  return verdicts;
}

async function sideBySide(
  contenders: readonly Contender[],
  { name, of, place, size }: {
    readonly name: string;
    readonly of: string;
    readonly place: BenchPlace;
    readonly size: Size;
  },
): Promise<Verdict[]> {
  // The session exists, and the code and the buffers are warm.
  for (const contender of contenders) {
    await generate(place.generator, contender, { mode: "rate", options: ["-n", "300"] });
    await generate(place.generator, contender, { mode: "bulk", options: ["-mb", "50", "-c", "32"] });
  }
  const verdicts: Verdict[] = [];
  for (const measurement of measurements(`forward, ${name}`, of, size)) {
    verdicts.push(
      ...await measure(measurement, contenders, { generator: place.generator, rounds: size.rounds }),
    );
  }
  return verdicts;
}

function measurements(name: string, of: string, { megabytes, exchanges }: Size): Measurement[] {
  const demand = { atLeast: 1, of };
  const bulk = (title: string, ...more: readonly string[]): Measurement => ({
    mode: "bulk",
    options: ["-mb", `${megabytes}`, ...more],
    wants: [{ name: `${name}: ${title}, MB/s`, demand, value: field("MB_per_s") }],
  });
  return [
    bulk("one stream down"),
    bulk("one stream up", "-up"),
    bulk("32 streams down", "-c", "32"),
    bulk("32 streams up", "-c", "32", "-up"),
    {
      mode: "rate",
      options: ["-n", `${exchanges / 2}`],
      wants: [{
        name: `${name}: 32 at once, exchanges per second`,
        demand,
        value: field("per_s"),
      }],
    },
  ];
}

/** Runs redis-benchmark through forwards to the same Redis. */
async function measureRedis(ssh: SshBench, { rounds, exchanges }: Size): Promise<Verdict[]> {
  const { redis_server, redis_benchmark } = await findPeers();
  for (const found of [redis_server, redis_benchmark]) {
    if (!("missing" in found)) continue;
    console.log(`skipped: redis-benchmark: ${found.missing}`);
    return [];
  }
  if (!("path" in redis_server && "path" in redis_benchmark)) return [];
  await using redis = await startOnPort("redis", (port) => [
    ...[redis_server.path, "--port", `${port}`, "--bind", "127.0.0.1", "--save", ""],
  ]);
  await using postern = await startForward(ssh, redis.address);
  await using peer = await ssh.localForward("near", redis.address);
  const samples = new Map<string, Sample[]>();
  for (const { address } of [postern, peer]) {
    await redisRates(redis_benchmark.path, address, exchanges);
  }
  for (let round = 0; round < rounds; round++) {
    for (const { name, address } of [postern, peer]) {
      const found = await redisRates(redis_benchmark.path, address, exchanges * 5);
      for (const [command, value] of found) {
        samples.set(command, [...samples.get(command) ?? [], { contender: name, value }]);
      }
    }
  }
  return [...samples].map(([command, values]) =>
    told(
      judge(`forward, ssh: redis-benchmark, 50 clients, ${command} per second`, values, {
        atLeast: 1,
        of: peer.name,
      }),
    )
  );
}

/** Returns the requests per second of each command. */
async function redisRates(
  program: string,
  address: string,
  requests: number,
): Promise<readonly (readonly [command: string, perSecond: number])[]> {
  const [host = "", port = ""] = address.split(":");
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: ["-h", host, "-p", port, "-c", "50", "-n", `${requests}`, "-t", "set,get", "--csv"],
    stdin: "null",
    // It retries a refused connection forever.
    signal: AbortSignal.timeout(300_000),
  }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`Cannot measure redis-benchmark: ${text.decode(stderr).trim()}`);
  const rows = [...text.decode(stdout).matchAll(/^"(SET|GET)","([0-9.]+)"/gm)];
  if (rows.length !== 2) throw new Error(`Cannot measure redis-benchmark: ${text.decode(stdout).trim()}`);
  return rows.map(([, command = "", rate]) => [command, Number(rate)] as const);
}
