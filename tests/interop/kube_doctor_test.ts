import assert from "node:assert/strict";
import { KubeHome } from "../support/kube_instance.ts";
import { peerTest } from "../support/peers.ts";

// What `doctor` and `test` say of clusters that are there, that are not, and that do not let us in.

peerTest("doctor and test tell how the clusters are", ["kubernetes", "curl"], async (peers, t) => {
  await using kube = await KubeHome.open(peers);
  const { cluster, home } = kube;
  const stranger = await cluster.writeKubeconfig({ name: "stranger", token: "no-secret-of-theirs" });
  await home.configure(`
transports:
  lab: { kubernetes: { kubeconfig: ${await cluster.writeKubeconfig()} } }
  none: { kubernetes: { kubeconfig: ${cluster.directory}/none } }
  stranger: { kubernetes: { kubeconfig: ${stranger} } }
routes: [{ to: .svc, via: lab }]
`);
  // A program that cannot reach a cluster fails here, and is asked nothing more.
  const first = await home.run(["test", "lab"]);
  assert.equal(first.code, 0, first.stdout + first.stderr);
  await t.step("test asks each API server, and goes on behind one that fails", async () => {
    const { code, stdout, stderr } = await home.run(["test"]);
    assert.equal(code, 7);
    assert.match(stdout, /^ok +lab /m);
    assert.match(stdout, /^FAILED +none .*\n +Cannot read ".*\/none": no such file or directory$/m);
    assert.match(stdout, /^FAILED +stranger .*\n +Cannot sign in to the cluster "lab": .* 401$/m);
    assert.match(stderr, /1 ok, 2 failed, 0 skipped/);
    assert.doesNotMatch(stdout + stderr, /no-secret-of-theirs|token-of-/);
  });
  await t.step("doctor reads the kubeconfigs and asks nobody", async () => {
    const { code, stdout } = await home.run(["doctor"]);
    assert.equal(code, 7);
    assert.match(stdout, /^ok +transport "lab": context lab of /m);
    assert.match(stdout, /^failed +transport "none": Cannot read ".*\/none": no such file or directory$/m);
    assert.match(stdout, /^ok +transport "stranger": /m);
  });
  await t.step("an API server that is away is named", async () => {
    await cluster.stopApi();
    const { code, stdout } = await home.run(["test", "lab"]);
    assert.equal(code, 7);
    assert.match(stdout, /^FAILED +lab [^]*Cannot reach the API server of the cluster "lab"/m);
  });
});
