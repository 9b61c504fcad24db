import assert from "node:assert/strict";
import { labCluster, storeClusters } from "../support/lab_clusters.ts";
import { peerTest } from "../support/peers.ts";
import { runPeer } from "../support/peer_program.ts";
import { Household } from "../support/postern_process.ts";

const own = `# another user's comment
apiVersion: v1
kind: Config
clusters:
- name: theirs # a remark
  cluster: { server: "https://theirs.example.net", unknown-field: 5 }
contexts: []
users: []
current-context: ""
x-of-another-tool: { kept: true }
`;

Deno.test("postern kubeconfig --merge keeps foreign entries, comments and unknown fields", async () => {
  await using home = await Household.open();
  await storeClusters(home);
  const path = `${home.directory}/k.yaml`;
  await Deno.writeTextFile(path, own, { mode: 0o640 });
  const { code, stderr } = await home.run(["clusters", "lab-1", "kubeconfig", "--merge", "--file", path]);
  assert.equal(code, 0, stderr);
  const text = await Deno.readTextFile(path);
  for (
    const part of ["# another user's comment", "# a remark", "unknown-field: 5", "kept: true", "c-lab-1"]
  ) {
    assert.ok(text.includes(part), `${part}\n${text}`);
  }
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  await assert.rejects(Deno.stat(`${path}.lock`), Deno.errors.NotFound);
});

peerTest(
  "postern kubeconfig --merge follows a link and does not change the server of an entry",
  ["sh"],
  async ({ sh }) => {
    await using home = await Household.open();
    await storeClusters(home);
    const [path, link] = [`${home.directory}/k.yaml`, `${home.directory}/link.yaml`];
    await Deno.writeTextFile(path, own.replace("name: theirs", "name: c-lab-1"));
    assert.equal((await runPeer(sh, ["-c", 'ln -s "$1" "$2"', "sh", path, link])).code, 0);
    const merge = ["clusters", "lab-1", "kubeconfig", "--merge", "--file", link];
    const refused = await home.run(merge);
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(
      refused.stderr,
      /different entries with the same name \(1 cluster\): c-lab-1\npostern: hint: add --force/,
    );
    const forced = await home.run([...merge, "--force"]);
    assert.equal(forced.code, 0, forced.stderr);
    assert.ok((await Deno.lstat(link)).isSymlink);
    assert.match(await Deno.readTextFile(path), /api\.c-lab-1\.example\.net/);
  },
);

peerTest(
  "postern kubeconfig --merge does not deadlock when a file has several names",
  ["sh"],
  async ({ sh }, t) => {
    await using home = await Household.open();
    await storeClusters(home);
    const [directory, link] = [`${home.directory}/kube`, `${home.directory}/linked`];
    await Deno.mkdir(directory);
    assert.equal((await runPeer(sh, ["-c", 'ln -s "$1" "$2"', "sh", directory, link])).code, 0);
    for (const path of ["plain", "kube/config", `${link}/config`, `${directory}/../linked/config`]) {
      await t.step(path.replaceAll(home.directory, "HOME"), async () => {
        const whole = path.startsWith("/") ? path : `${home.directory}/${path}`;
        await Deno.writeTextFile(whole, own);
        const merge = ["clusters", "lab-1", "kubeconfig", "--merge", "--file", path];
        // From source, KUBECONFIG grants write permission to the directory under every name.
        const { code, stderr } = await home.run(merge, { env: { KUBECONFIG: `${directory}/none` } });
        assert.equal(code, 0, stderr);
        assert.match(await Deno.readTextFile(whole), /api\.c-lab-1\.example\.net/);
        await assert.rejects(Deno.stat(`${whole}.lock`), Deno.errors.NotFound);
      });
    }
  },
);

peerTest(
  "25 changes of one kubeconfig at the same time, by kubectl and by postern, lose none",
  ["kubectl"],
  async ({ kubectl }) => {
    await using home = await Household.open();
    const ours = Array.from({ length: 13 }, (_, at) => `c-own-${at}`);
    const foreign = Array.from({ length: 12 }, (_, at) => `their-${at}`);
    await storeClusters(home, ours.map((id) => labCluster(id, id, {})));
    const path = `${home.directory}/k.yaml`;
    const config = (...args: string[]) =>
      runPeer(kubectl, ["--kubeconfig", path, "config", ...args], { env: { HOME: home.directory } });
    // Two kubectl processes at once overwrite each other's changes: the test runs them one after the other.
    const byKubectl = async () => {
      for (const name of foreign) {
        const end = performance.now() + 60_000;
        for (;;) {
          const { code, stderr } = await config("set-cluster", name, `--server=https://${name}.example.net`);
          if (code === 0) break;
          assert.match(stderr, /k\.yaml\.lock: file exists/);
          assert.ok(performance.now() < end, stderr);
        }
      }
    };
    const byPostern = async (names: readonly string[]) => {
      for (const name of names) {
        const args = ["clusters", name, "kubeconfig", "--merge", "--file", path];
        const { code, stderr } = await home.run(args);
        assert.equal(code, 0, stderr);
      }
    };
    await Promise.all([
      byKubectl(),
      ...[0, 1, 2].map((at) => byPostern(ours.filter((_, index) => index % 3 === at))),
    ]);
    const { code, stdout, stderr } = await config("view", "-o", "json");
    assert.equal(code, 0, stderr);
    const names = JSON.parse(stdout).clusters.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.sort(), [...ours, ...foreign].sort());
    await assert.rejects(Deno.stat(`${path}.lock`), Deno.errors.NotFound);
  },
);
