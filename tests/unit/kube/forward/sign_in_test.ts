import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import type { RunResult } from "../../../../src/world/mod.ts";
import { Kubernetes } from "../../../../src/transports/kubernetes.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { FakeKubeApi, type FakeWatch } from "../../../support/fake_kube_api.ts";
import { idleSshServices } from "../../../support/idle_ssh_services.ts";
import { listed, service } from "../../../support/kube_answers.ts";
import { kubeconfigOf } from "../../../support/kube_world.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();
const v1 = "client.authentication.k8s.io/v1";
const minute = 60_000;

/** A transport into a cluster, with a credential plugin that the test controls. */
async function world() {
  const clock = new FakeClock();
  const watches: FakeWatch[] = [];
  const api = new FakeKubeApi(({ path }) => {
    if (!/\/(services|endpointslices)$/.test(path)) return { status: 404, body: {} };
    const watch = path.endsWith("/services") ? listed(9, service("web", 8)) : listed(9);
    watches.push(watch);
    return watch;
  });
  const known = { runs: 0, isSignedOut: false };
  const run = (): Promise<RunResult> => {
    known.runs++;
    if (known.isSignedOut) return Promise.resolve({ code: 1, stdout: "", stderr: "dismissed" });
    const expirationTimestamp = new Date(clock.date().getTime() + minute).toISOString();
    const status = { token: "good", expirationTimestamp };
    const stdout = JSON.stringify({ apiVersion: v1, kind: "ExecCredential", status });
    return Promise.resolve({ code: 0, stdout, stderr: "" });
  };
  const user = { exec: { apiVersion: v1, command: "kubelogin", interactiveMode: "Never" } };
  const files = new MemoryFiles({
    "/config": kubeconfigOf({ server: "http://kube.localhost", user, context: { namespace: "shop" } }),
  });
  const parts = { network: new MemoryNetwork(), clock, log: recordingLog(), files };
  const ssh = idleSshServices(parts);
  const process = { mayRun: () => true, run };
  const transport = new Kubernetes({
    kubeconfigs: ["/config"],
    clusterDomain: "cluster.local",
    halfClose: "pass",
    externalName: "refuse",
  }, { ...parts, name: "lab", dialer: api.dial, process, ssh });
  // Load the cluster code before the fake clock starts.
  await transport.names.find("nothing.shop.svc", { signal });
  return {
    clock,
    transport,
    known,
    watches,
    async failure(host: string): Promise<PosternError> {
      return await transport.dial({ host, port: 81 }, { signal }).then(
        () => assert.fail("the target was reached"),
        (error) => error,
      );
    },
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
      await ssh[Symbol.asyncDispose]();
    },
  };
}

/** Ends the credentials and the watches, so that further requests need a sign-in. */
async function signedOut() {
  const lab = await world();
  lab.known.isSignedOut = true;
  await lab.clock.advance(minute);
  for (const watch of lab.watches) watch.end();
  await lab.clock.advance(minute);
  assert.equal(lab.known.runs, 2);
  return lab;
}

Deno.test("Kubernetes does not rerun a failed plugin for its watches", async () => {
  await using lab = await signedOut();
  await lab.clock.advance(20 * minute);
  assert.equal(lab.known.runs, 2);
  const [found] = lab.transport.status().clusters;
  assert.equal(found?.state, "failing");
  assert.match(
    found?.lastError ?? "",
    /^Cannot sign in with the credential plugin .*: dismissed \(\d+m( \d+s)? ago\)$/,
  );
});

Deno.test("Kubernetes reruns a failed plugin for a name of the cluster, once for many clients", async () => {
  await using lab = await signedOut();
  for (let times = 0; times < 30; times++) await lab.failure(`pod-${times}.nothing.other.svc`);
  await lab.clock.advance(9_000);
  assert.equal((await lab.failure("x.other")).detail, "sign_in");
  assert.equal(lab.known.runs, 3);
  await lab.clock.advance(minute);
  await lab.failure("www.example.com");
  assert.equal(lab.known.runs, 3);
  await lab.failure("x.other");
  assert.equal(lab.known.runs, 4);
  // The cluster's table answers without a sign-in, but requests one.
  await lab.clock.advance(minute);
  assert.match((await lab.failure("web.shop")).message, /port 81/);
  await lab.clock.advance(0);
  assert.equal(lab.known.runs, 5);
});

Deno.test("Kubernetes reruns a failed plugin after a reload, and when the user connects", async () => {
  await using lab = await signedOut();
  await lab.transport.prepare();
  await lab.clock.advance(minute);
  assert.equal(lab.known.runs, 3);
  await lab.transport.connect({ signal });
  assert.equal(lab.known.runs, 4);
  lab.known.isSignedOut = false;
  await lab.transport.prepare();
  await lab.clock.advance(minute);
  assert.equal(lab.transport.status().clusters[0]?.state, "ready");
});

Deno.test("Kubernetes reruns a failed plugin at once for the first client after a reload", async () => {
  await using lab = await signedOut();
  await assert.rejects(lab.transport.dial({ host: "x.other.svc", port: 80 }, { signal }), /dismissed/);
  await lab.transport.prepare();
  const before = lab.known.runs;
  await assert.rejects(lab.transport.dial({ host: "x.other.svc", port: 80 }, { signal }), /dismissed$/);
  assert.equal(lab.known.runs, before + 1);
});

Deno.test("Kubernetes reruns a failed plugin for a DNS query for a name of the cluster", async () => {
  await using lab = await signedOut();
  await lab.clock.advance(minute);
  await assert.rejects(lab.transport.names.find("x.other.svc", { signal }), /dismissed/);
  assert.equal(lab.known.runs, 3);
});
