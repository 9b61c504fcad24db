import assert from "node:assert/strict";
import { keptKubeconfigs, loadConfig, usualKubeconfigs, writtenKubeconfigs } from "../../../src/plan/mod.ts";
import { instanceKubeconfigs } from "../../../src/plan/kubeconfigs.ts";
import { MemoryWorld, type MemoryWorldOptions } from "../../support/memory_world.ts";

const usual = ["/home/me/.kube/config"];
const cases: {
  name: string;
  env?: Record<string, string>;
  platform?: MemoryWorldOptions["platform"];
  kubectl: readonly string[];
  instance?: readonly string[];
  kept: string | undefined;
}[] = [
  { name: "nothing", kubectl: usual, kept: undefined },
  { name: "an empty variable", env: { KUBECONFIG: "" }, kubectl: usual, kept: undefined },
  { name: "one file", env: { KUBECONFIG: "/a" }, kubectl: ["/a"], kept: "/a" },
  {
    name: "a list with empty, relative and repeated files",
    env: { KUBECONFIG: "/a::b/c:/a:" },
    kubectl: ["/a", "/here/b/c"],
    kept: "/a:/here/b/c",
  },
  {
    name: "a Windows list",
    env: { KUBECONFIG: "C:\\k;d" },
    platform: "windows",
    kubectl: ["C:\\k", "/here/d"],
    kept: "C:\\k;/here/d",
  },
  {
    name: "a value that postern has set",
    env: { KUBECONFIG: "/tmp/c-lab.kubeconfig", POSTERN_CLUSTER: "c-lab" },
    kubectl: ["/tmp/c-lab.kubeconfig"],
    instance: usual,
    kept: undefined,
  },
];
for (const { name, env = {}, platform = "linux", kubectl, instance = kubectl, kept } of cases) {
  Deno.test(`usualKubeconfigs() and those of an instance follow ${name}`, () => {
    const world = new MemoryWorld({ env, platform });
    assert.deepEqual(usualKubeconfigs(world), kubectl);
    assert.deepEqual(instanceKubeconfigs(world), instance);
    assert.equal(keptKubeconfigs(world), kept);
  });
}

Deno.test("writtenKubeconfigs() starts with the first file that exists, else with the last one", async () => {
  const env = { KUBECONFIG: "/a:/b:/c" };
  const written = (files: Record<string, string>) => writtenKubeconfigs(new MemoryWorld({ env, files }));
  assert.deepEqual(await written({ "/b": "", "/c": "" }), ["/b", "/c"]);
  assert.deepEqual(await written({ "/a": "", "/c": "" }), ["/a", "/b", "/c"]);
  assert.deepEqual(await written({}), ["/c"]);
});

Deno.test("loadConfig() gives a cluster its own kubeconfigs, else those of KUBECONFIG", async () => {
  const text = "transports:\n  own: { kubernetes: { kubeconfig: ~/own } }\n" +
    "  list: { kubernetes: { kubeconfig: [~/own, k/b] } }\n  short: { kubernetes: lab }\n";
  const world = new MemoryWorld({ files: { "/config/config.yaml": text }, env: { KUBECONFIG: "/a:b" } });
  const { settings: { transports } } = await loadConfig(world, {});
  const found = Object.values(transports).map(({ settings }) =>
    (settings as { kubeconfigs: unknown }).kubeconfigs
  );
  assert.deepEqual(found, [["/home/me/own"], ["/home/me/own", "/config/k/b"], ["/a", "/here/b"]]);
});
