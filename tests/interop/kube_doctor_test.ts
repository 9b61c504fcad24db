import assert from "node:assert/strict";
import { KubeHome } from "../support/kube_instance.ts";
import { peerTest } from "../support/peers.ts";

// The output of `doctor` and `test` for clusters that work, are missing, or refuse us.

peerTest("doctor and test report the state of the clusters", ["kubernetes", "curl"], async (peers, t) => {
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
  // If the program cannot reach the cluster, fail here before the other steps.
  const first = await home.run(["test", "lab"]);
  assert.equal(first.code, 0, first.stdout + first.stderr);
  await t.step("test checks each API server, also after a failed one", async () => {
    const { code, stdout, stderr } = await home.run(["test"]);
    assert.equal(code, 7);
    assert.match(stdout, /^ok +lab /m);
    assert.match(stdout, /^FAILED +none .*\n +Cannot read ".*\/none": no such file or directory$/m);
    assert.match(stdout, /^FAILED +stranger .*\n +Cannot sign in to the cluster "lab": .* 401$/m);
    assert.match(stderr, /1 ok, 2 failed, 0 skipped/);
    assert.doesNotMatch(stdout + stderr, /no-secret-of-theirs|token-of-/);
  });
  await t.step("doctor reads the kubeconfigs without network requests", async () => {
    const { code, stdout } = await home.run(["doctor"]);
    assert.equal(code, 7);
    assert.match(stdout, /^ok +transport "lab": context lab of /m);
    assert.match(stdout, /^failed +transport "none": Cannot read ".*\/none": no such file or directory$/m);
    assert.match(stdout, /^ok +transport "stranger": /m);
  });
  await t.step("an unreachable API server is named", async () => {
    await cluster.stopApi();
    const { code, stdout } = await home.run(["test", "lab"]);
    assert.equal(code, 7);
    assert.match(stdout, /^FAILED +lab [^]*Cannot reach the API server of the cluster "lab"/m);
  });
});
