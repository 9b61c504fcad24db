import assert from "node:assert/strict";
import { Company, type CompanyCluster, companyCluster } from "../support/company.ts";
import { isLongRun } from "../support/long_runs.ts";
import { namespaceTest } from "../support/namespaces.ts";
import { peerTest } from "../support/peers.ts";

/** Clusters with twenty domains each; all clusters of one `time` have the same display name. */
function fleet(count: number, time: string): readonly CompanyCluster[] {
  return Array.from({ length: count }, (_, at) => ({
    ...companyCluster(`c-${at}`, "jump1"),
    displayName: time,
    facts: {
      jumphost: "jump1",
      jumphostDomains: Array.from({ length: 19 }, (_, name) => `s${name}.x${at}.example.com`).join(),
    },
  }));
}

/** The stored clusters and their `time` values: more than one value would mean a partial update. */
async function stored(
  { home }: Company,
): Promise<{ readonly count: number; readonly times: readonly string[] }> {
  const { code, stdout, stderr } = await home.run(["clusters", "-o", "json"]);
  assert.equal(code, 0, stderr);
  const { clusters } = JSON.parse(stdout) as { clusters: { displayName: string }[] };
  return { count: clusters.length, times: [...new Set(clusters.map(({ displayName }) => displayName))] };
}

Deno.test("a postern update killed at any moment leaves the old catalogue or the new one", async () => {
  await using company = await Company.open();
  const { home, lieutenant, env } = company;
  lieutenant.clusters = fleet(1000, "first");
  const start = performance.now();
  assert.equal((await company.update()).code, 0);
  const whole = performance.now() - start;
  let [count, time] = [1000, "first"];
  const rounds = isLongRun() ? 60 : 8;
  for (let round = 1; round <= rounds; round++) {
    lieutenant.clusters = fleet(1000 + round, `time ${round}`);
    const update = home.start(["update", "--token-file", "token"], { env });
    // The start takes most of the time: the critical moments are in the second half.
    await new Promise((resolve) => setTimeout(resolve, whole * (0.4 + 0.7 * round / rounds)));
    await update[Symbol.asyncDispose]();
    const now = await stored(company);
    if (now.count !== count) [count, time] = [1000 + round, `time ${round}`];
    assert.deepEqual(now, { count, times: [time] });
  }
  assert.equal((await company.update()).code, 0);
  const names = [...Deno.readDirSync(`${home.places.cache}/catalogue`)].map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => !/^(?:lock|snapshot\.json|catalogue\.kv(?:-wal|-shm)?)$/.test(name)),
    [],
  );
});

Deno.test("three concurrent postern updates succeed, and one of them is stored", async () => {
  await using company = await Company.open();
  const { lieutenant } = company;
  lieutenant.clusters = fleet(500, "same");
  const all = await Promise.all([1, 2, 3].map(() => company.update()));
  assert.deepEqual(all.map(({ code, stderr }) => [code, stderr]), [[0, ""], [0, ""], [0, ""]]);
  assert.deepEqual(await stored(company), { count: 500, times: ["same"] });
});

peerTest("postern update with a file size limit keeps the old catalogue", ["bash"], async ({ bash }) => {
  await using company = await Company.open();
  company.lieutenant.clusters = fleet(20, "old");
  assert.equal((await company.update()).code, 0);
  company.lieutenant.clusters = fleet(3000, "new");
  // The system kills a process that writes more; bash counts kilobytes.
  const under = [bash, "-c", 'ulimit -f 600; exec "$@"', "bash"];
  assert.notEqual((await company.updateUnder({ under })).code, 0);
  assert.deepEqual(await stored(company), { count: 20, times: ["old"] });
  assert.equal((await company.update()).code, 0);
  assert.deepEqual(await stored(company), { count: 3000, times: ["new"] });
});

namespaceTest(
  "postern update reports a read-only cache, and the stored catalogue stays usable",
  "--mount",
  async (wrap) => {
    await using company = await Company.open();
    const { home } = company;
    company.lieutenant.clusters = fleet(20, "old");
    assert.equal((await company.update()).code, 0);
    const { cache } = home.places;
    const under = wrap(`mount --bind ${cache} ${cache} && mount -o remount,ro,bind ${cache}`);
    const { code, stdout, stderr } = await company.updateUnder({ under });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /the file system is read-only.*\npostern: hint: use a writable place, .*; postern keeps the catalogue of \d+s ago\n$/,
    );
    const listed = await home.run(["clusters"], { under });
    assert.deepEqual([listed.code, listed.stdout.split("\n").length], [0, 22], listed.stderr);
    await using instance = await home.instance([], { under });
    assert.match((await home.run(["explain", "c-7.example.net"])).stdout, /goes to jump1\n/);
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0);
  },
);

namespaceTest(
  "postern update reports a full disk, and works again when there is space",
  "--mount",
  async (wrap, bash) => {
    await using company = await Company.open();
    const { home, lieutenant } = company;
    const { cache } = home.places;
    await Deno.mkdir(cache, { recursive: true, mode: 0o700 });
    const program = (...args: string[]) => {
      const { command } = home.commandLine(["update", "--token-file", "token", ...args]);
      return command.map((word) => `"${word}"`).join(" ");
    };
    // One mount for all following commands; it disappears with its namespace.
    const script = [
      program(),
      `dd if=/dev/zero of="${cache}/filler" bs=4096 2>/dev/null`,
      `${program()} && exit 9`,
      `rm "${cache}/filler"`,
      program(),
    ].join("\n");
    let asked = 0;
    lieutenant.refuses = () => {
      lieutenant.clusters = fleet(asked++ === 0 ? 20 : 400, `time ${asked}`);
      return false;
    };
    const { env } = home.commandLine([], { env: company.env });
    const [path = "", ...args] = wrap(`mount -t tmpfs -o size=4m,mode=0700 tmpfs ${cache}`);
    const { code, stdout, stderr } = await new Deno.Command(path, {
      args: [...args, bash, "-c", script],
      env: { ...env },
      clearEnv: true,
      cwd: home.directory,
    }).output();
    const [said, told] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert.equal(code, 0, told);
    assert.match(
      told ?? "",
      /error: Cannot .*: (?:no space left|the disk is full or failing).*\npostern: hint: .*; postern keeps the catalogue of \d+s ago\n/,
    );
    assert.deepEqual(said?.match(/^catalogue main: \d+ clusters/gm), [
      "catalogue main: 20 clusters",
      "catalogue main: 400 clusters",
    ]);
  },
);
