import assert from "node:assert/strict";
import { doctor } from "../../../../src/doctor/mod.ts";
import {
  checkConfig,
  environmentFromFiles,
  explainFromFiles,
  pacFromFiles,
} from "../../../../src/instance/mod.ts";
import { forgetLearned } from "../../../../src/plan/mod.ts";
import { kubeconfigOf } from "../../../support/kube_world.ts";
import { learnedFile } from "../../../support/learned_file.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const { signal } = new AbortController();
const path = "/config/config.yaml";
const server = "http://lab.example.net:6443";

/** A world whose configuration has clusters that do not answer, with facts learned about them. */
async function worldOf(
  { more = "", learned = ["10.96.0.0/16"], prod }: {
    readonly more?: string;
    readonly learned?: readonly string[];
    readonly prod?: readonly string[];
  } = {},
): Promise<MemoryWorld> {
  const clusters = ["lab", ...(prod ? ["prod"] : [])];
  const transports = clusters.map((name) => `  ${name}: { kubernetes: { kubeconfig: /${name} } }\n`).join("");
  const routes = clusters.map((name) => `  - { to: [<services>, <clusterips>], via: ${name} }\n`).join("");
  return new MemoryWorld({
    files: {
      [path]: `${more}transports:\n${transports}routes:\n${routes}`,
      "/lab": kubeconfigOf({ server }),
      "/prod": kubeconfigOf({ server: "http://prod.example.net:6443" }),
      ...await learnedFile(server, { serviceNetworks: learned, namespaces: ["shop-eu"] }),
      ...(prod ? await learnedFile("http://prod.example.net:6443", { serviceNetworks: prod }) : {}),
    },
  });
}

Deno.test("checkConfig() warns of a rule for a network around one that a cluster owns", async () => {
  const { errors, warnings } = await checkConfig(await worldOf({ more: "direct: [10.0.0.0/8]\n" }), {});
  assert.deepEqual(errors, []);
  assert.deepEqual(warnings, [
    `${path}:1:10: warning: "10.0.0.0/8" contains 10.96.0.0/16 of the cluster of "lab": postern sends that network to the cluster only`,
  ]);
});

Deno.test("doctor() reports clusters with overlapping networks, and how to distinguish them", async () => {
  const found = [];
  const world = await worldOf({ prod: ["10.96.0.0/12"] });
  for await (const finding of doctor(world, { id: "default", version: "1" }, { signal })) found.push(finding);
  assert.deepEqual(found.filter(({ name }) => name.startsWith("clusters of")), [{
    name: 'clusters of "lab" and "prod"',
    state: "warning",
    detail: "their networks overlap: 10.96.0.0/16 and 10.96.0.0/12",
    hint: "give each transport a suffix and connect to names below it: transports.prod.kubernetes.suffix",
  }]);
});

Deno.test("explainFromFiles() reports why a target is rejected while the cluster does not answer", async () => {
  const world = await worldOf();
  const asked = explainFromFiles(world, {}, {
    target: { host: "web.shop-eu", port: 80 },
    dial: false,
    signal,
  });
  let isAnswered = false;
  asked.finally(() => isAnswered = true).catch(() => {});
  // postern queries the API server three times before it reports the answer; the modules for that load
  // meanwhile.
  for (let turn = 0; turn < 1_000 && !isAnswered; turn++) {
    await new Promise((resolve) => setTimeout(resolve));
    await world.clock.advance(100);
  }
  const { transport, because, held, hops } = await asked;
  assert.deepEqual([transport, hops], ["reject", []]);
  assert.equal(because, "belongs to lab: the cluster has the namespace shop-eu");
  assert.match(
    held?.message ?? "",
    /^Cannot reach web\.shop-eu:80: the target belongs to the cluster of "lab", whose Services are unknown: /,
  );
  assert.match(held?.hint ?? "", /direct: \["web\.shop-eu"\]/);
});

Deno.test("pacFromFiles() and environmentFromFiles() use learned facts", async () => {
  const world = await worldOf({ more: "direct: [203.0.0.0/8, example.com]\n", learned: ["203.0.112.0/20"] });
  const find = new Function(`${await pacFromFiles(world, {})}\nreturn FindProxyForURL;`)();
  assert.match(find("http://203.0.113.9/", "203.0.113.9"), /^SOCKS5 /);
  assert.equal(find("http://203.1.2.3/", "203.1.2.3"), "DIRECT");
  const { noProxy } = await environmentFromFiles(world, {}, { credentials: false });
  assert.deepEqual(noProxy.filter((item) => !/localhost|127|::1/.test(item)), ["example.com"]);
});

Deno.test("forgetLearned() removes the stored facts of all clusters", async () => {
  const world = await worldOf({ prod: [] });
  assert.equal(await forgetLearned(world), 2);
  assert.equal(await forgetLearned(world), 0);
  assert.equal(await forgetLearned(new MemoryWorld()), 0);
});
