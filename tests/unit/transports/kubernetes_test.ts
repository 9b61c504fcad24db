import assert from "node:assert/strict";
import { Kubernetes } from "../../../src/transports/kubernetes.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeKubeApi } from "../../support/fake_kube_api.ts";
import { idleSshServices } from "../../support/idle_ssh_services.ts";
import { listed, onlyServices, service } from "../../support/kube_answers.ts";
import { kubeconfigOf } from "../../support/kube_world.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { noPrograms } from "../../support/no_programs.ts";
import { recordingLog } from "../../support/recording_log.ts";

const { signal } = new AbortController();

Deno.test("Kubernetes has the current Services after a change of a kubeconfig", async () => {
  let name = "old";
  await using api = new FakeKubeApi(
    onlyServices(({ path }) =>
      path.endsWith("/services") ? listed(9, service(name, 8)) : { status: 404, body: {} }
    ),
  );
  const user = (token: string) => JSON.stringify({ users: [{ name: "u", user: { token } }] });
  const kubeconfig = kubeconfigOf({ server: "http://kube.localhost", user: { token: "of the second file" } });
  const files = new MemoryFiles({ "/user": user("first"), "/config": kubeconfig });
  const parts = { network: new MemoryNetwork(), clock: new FakeClock(), log: recordingLog(), files };
  await using ssh = idleSshServices(parts);
  await using transport = new Kubernetes({
    kubeconfigs: ["/missing", "/user", "/config"],
    clusterDomain: "cluster.local",
    halfClose: "pass",
    externalName: "refuse",
  }, { ...parts, name: "lab", dialer: api.dial, process: noPrograms, ssh });
  const known = () => [...transport.tables?.current?.services ?? []];
  await transport.tables?.follow({ signal });
  assert.deepEqual(known(), ["old.shop"]);
  // Read again without a change: the known Services stay.
  await transport.prepare();
  assert.deepEqual(known(), ["old.shop"]);
  name = "new";
  files.put("/user", user("second"));
  assert.deepEqual(await transport.prepare(), []);
  assert.deepEqual(known(), []);
  await transport.tables?.follow({ signal });
  assert.deepEqual(known(), ["new.shop"]);
  assert.equal(transport.status()["detail"], "context lab of /missing, /user, /config");
});
