import assert from "node:assert/strict";
import { Kubernetes } from "../../../../src/transports/kubernetes.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { FakeKubeApi } from "../../../support/fake_kube_api.ts";
import { idleSshServices } from "../../../support/idle_ssh_services.ts";
import { listed, onlyServices, service } from "../../../support/kube_answers.ts";
import { kubeconfigOf } from "../../../support/kube_world.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { noPrograms } from "../../../support/no_programs.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();

Deno.test("Kubernetes has the Services of now after its kubeconfig has changed", async () => {
  let name = "old";
  await using api = new FakeKubeApi(
    onlyServices(({ path }) =>
      path.endsWith("/services") ? listed(9, service(name, 8)) : { status: 404, body: {} }
    ),
  );
  const kubeconfig = (token: string) => kubeconfigOf({ server: "http://kube.localhost", user: { token } });
  const files = new MemoryFiles({ "/config": kubeconfig("first") });
  const parts = { network: new MemoryNetwork(), clock: new FakeClock(), log: recordingLog(), files };
  await using ssh = idleSshServices(parts);
  await using transport = new Kubernetes({
    kubeconfigs: ["/config"],
    clusterDomain: "cluster.local",
    halfClose: "pass",
    externalName: "refuse",
  }, { ...parts, name: "lab", dialer: api.dial, process: noPrograms, ssh });
  const known = () => [...transport.tables?.current?.services ?? []];
  await transport.tables?.follow({ signal });
  assert.deepEqual(known(), ["old.shop"]);
  // Read again without a change: what is known stays so.
  await transport.prepare();
  assert.deepEqual(known(), ["old.shop"]);
  name = "new";
  files.put("/config", kubeconfig("second"));
  assert.deepEqual(await transport.prepare(), []);
  assert.deepEqual(known(), []);
  await transport.tables?.follow({ signal });
  assert.deepEqual(known(), ["new.shop"]);
});
