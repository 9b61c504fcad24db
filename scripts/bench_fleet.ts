import { storedCatalogue } from "../tests/support/catalogue_program.ts";
import { Household } from "../tests/support/postern_process.ts";
import { measureInherited } from "./bench_inherited.ts";
import { type BenchPlace, told } from "./bench_measure.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";
import { findPeer } from "./find_peers.ts";
import { peers } from "./peer_table.ts";

interface Size {
  readonly rounds: number;
  /** The number of clusters, each with twenty domains. */
  readonly clusters: number;
}

const full: Size = { rounds: 5, clusters: 2000 };
const smoke: Size = { rounds: 1, clusters: 200 };

/** Measures a large catalogue, a program in a cluster, and instances on inherited sockets. */
export async function benchFleet(place: BenchPlace): Promise<Verdict[]> {
  const size = place.isSmoke ? smoke : full;
  return [...await measureCatalogue(size), ...await measureInherited(place)];
}

async function measureCatalogue(size: Size): Promise<Verdict[]> {
  await using lieutenant = new GrowingLieutenant(size.clusters);
  await using home = await Household.open();
  await home.configure(`catalogues: [{ lieutenant: "${lieutenant.url}" }]\ndefault: direct\n`);
  await Deno.writeTextFile(`${home.directory}/token`, token(), { mode: 0o600 });
  const update = ["update", "--token-file", `${home.directory}/token`];
  await succeeds(home, update);

  const starts: number[] = [];
  for (let round = 0; round < size.rounds; round++) {
    const { ms, result: instance } = await timed(() => home.instance());
    starts.push(ms);
    await instance[Symbol.asyncDispose]();
  }
  await using _instance = await home.instance();
  const updates: number[] = [];
  const lists: number[] = [];
  for (let round = 0; round < size.rounds; round++) {
    // Every cluster has new domains: postern stores all of them again and replaces every route.
    lieutenant.year++;
    updates.push((await timed(() => succeeds(home, update, /reloaded instance/))).ms);
    lists.push((await timed(() => succeeds(home, ["clusters"]))).ms);
  }
  const of = `${size.clusters} clusters`;
  return [
    verdict(`update stores and reloads ${of}, ms`, updates, { atMost: 2000 }),
    verdict(`clusters prints ${of}, ms`, lists, { atMost: 300 }),
    verdict(`start with ${of}, ms`, starts, { atMost: 1500 }),
    ...await measureKubectl(home, size),
  ];
}

/** Measures the time that `postern kubectl` adds to kubectl while an instance runs. */
async function measureKubectl(home: Household, { rounds }: Size): Promise<Verdict[]> {
  const kubectl = await findPeer(peers.kubectl);
  if ("missing" in kubectl) {
    console.log(`skipped: kubectl: ${kubectl.missing}`);
    return [];
  }
  const { path } = kubectl;
  const env = { PATH: `${path.replace(/\/[^/]*$/, "")}:/usr/bin:/bin`, HOME: home.directory };
  const args = ["version", "--client"];
  const added: number[] = [];
  for (let round = 0; round < rounds * 2; round++) {
    const alone = await timed(() =>
      new Deno.Command(path, { args, env, clearEnv: true, stdout: "null" }).output()
    );
    const wrapped = await timed(() =>
      succeeds(home, ["clusters", "c-bench-7", "kubectl", ...args], /^/, env)
    );
    added.push(wrapped.ms - alone.ms);
  }
  return [verdict("postern kubectl, ms in addition to kubectl", added, { atMost: 150 })];
}

function verdict(name: string, values: readonly number[], demand: Demand): Verdict {
  return told(judge(name, values.map((value): Sample => ({ contender: "postern", value })), demand));
}

async function succeeds(
  home: Household,
  args: readonly string[],
  says = /^/,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { code, stdout, stderr } = await home.run(args, { env });
  if (code !== 0 || !says.test(stderr)) {
    throw new Error(
      `Cannot measure ${args.join(" ")}: exit ${code}: ${stdout.slice(0, 500)}${stderr.slice(0, 2000)}`,
    );
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
  const begun = performance.now();
  const result = await work();
  return { ms: performance.now() - begun, result };
}

/** Stands in for Lieutenant: returns different clusters for each year and accepts any token. */
class GrowingLieutenant implements AsyncDisposable {
  year = 2000;
  readonly #count: number;
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => this.#answer(new URL(request.url)),
  );

  constructor(count: number) {
    this.#count = count;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  #answer({ pathname }: URL): Response {
    if (pathname !== "/clusters") return Response.json({ apiVersion: "bench" });
    return Response.json(storedCatalogue("bench", this.year, this.#count).clusters);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.shutdown();
  }
}

/** An unsigned token. */
function token(): string {
  const part = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");
  return `${part({ alg: "none" })}.${part({ iss: "bench", exp: Math.floor(Date.now() / 1000) + 3600 })}.none`;
}
