import assert from "node:assert/strict";
import { readKubeConfig } from "../../../../src/kube/api/kube_config.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { ContextUse } from "../../../../src/kube/forward/cluster_links.ts";
import { ClusterSet } from "../../../../src/kube/forward/cluster_set.ts";
import type { KubernetesSettings } from "../../../../src/kube/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { serviceRecord, sliceRecord } from "../../../support/fake_cluster_view.ts";
import { PodEnds } from "../../../support/forward_stand_in.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { type StandInLink, standInLink, type StandInLinkOptions } from "../../../support/stand_in_link.ts";

const { signal } = new AbortController();

/** A kubeconfig with these contexts; the first is the current one. */
async function configOf(contexts: readonly string[], token = "secret") {
  const text = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: "https://kube.localhost" } }],
    users: [{ name: "u", user: { token } }],
    contexts: contexts.map((name) => ({ name, context: { cluster: "c", user: "u", namespace: "shop" } })),
    "current-context": contexts[0],
  });
  return await readKubeConfig(new MemoryFiles({ "/config": text }), ["/config"]);
}

async function made(
  more: Partial<KubernetesSettings>,
  contexts = ["one", "two"],
  { isGone }: Pick<StandInLinkOptions, "isGone"> = {},
) {
  const clock = new FakeClock();
  const pod = new PodEnds();
  const links: StandInLink[] = [];
  const uses: ContextUse[] = [];
  const parts = {
    services: [serviceRecord({ namespace: "shop", name: "web" })],
    slices: { "shop/web": [sliceRecord(["web-1"], 8080)] },
  };
  const settings: KubernetesSettings = {
    kubeconfigs: ["/config"],
    clusterDomain: "cluster.local",
    halfClose: "pass",
    externalName: "refuse",
    ...more,
  };
  const set = new ClusterSet({
    settings,
    clock,
    config: await configOf(contexts),
    links: {
      make: (use) => {
        uses.push(use);
        const made = standInLink({
          parts,
          connect: pod.connect,
          name: use.context.name,
          ...(isGone && { isGone }),
        });
        links.push(made);
        return made.link;
      },
    },
  });
  return { set, clock, uses, links };
}

Deno.test("ClusterSet creates a link on first use, for the current or a named context", async () => {
  for (const [settings, expected] of [[{}, "one"], [{ context: "two" }, "two"]] as const) {
    const { set, uses } = await made(settings);
    await using _set = set;
    assert.deepEqual([uses, set.links], [[], []]);
    for (let left = 2; left > 0; left--) {
      await using _conn = await set.dial({ host: "web", port: 80 }, { signal });
    }
    assert.deepEqual(uses.map(({ context, namespace }) => [context.name, namespace]), [[expected, "shop"]]);
    assert.equal(set.single, set.links[0]);
  }
});

const hosts: readonly { host: string; found: readonly [context: string, host: string] | undefined }[] = [
  { host: "web.one.k8s.internal", found: ["one", "web"] },
  { host: "WEB.shop.Two.K8S.internal.", found: ["two", "web.shop"] },
  { host: "web.three.k8s.internal", found: undefined },
  { host: "web.shop.svc", found: undefined },
];
for (const { host, found } of hosts) {
  Deno.test(`ClusterSet finds ${found?.[0] ?? "no context"} in ${host}`, async () => {
    const { set } = await made({ contexts: "all", suffix: "k8s.internal" });
    await using _set = set;
    const is = set.find(host);
    assert.deepEqual(is && [is.link.api.name, is.host], found);
    assert.equal(set.single, undefined);
    if (found) return;
    await assert.rejects(set.dial({ host, port: 80 }, { signal }), (error) => {
      assert.ok(error instanceof PosternError && error.code === "name_not_found");
      assert.match(error.hint ?? "", /NAME\.CONTEXT\.k8s\.internal with one of these contexts: one, two$/);
      return true;
    });
  });
}

Deno.test("ClusterSet knows only the configured contexts", async () => {
  const { set } = await made({ contexts: ["two"], suffix: "k8s.internal" });
  await using _set = set;
  assert.deepEqual([set.find("web.one.k8s.internal"), set.find("web.two.k8s.internal")?.host], [
    undefined,
    "web",
  ]);
});

Deno.test("ClusterSet keeps an unchanged link, and closes a changed one after its connections end", async () => {
  const { set, clock, links } = await made({});
  await using _set = set;
  const conn = await set.dial({ host: "web", port: 80 }, { signal });
  const [before] = links;
  set.renew(await configOf(["one", "two"]));
  assert.equal(set.single, before?.link);
  set.renew(await configOf(["one", "two"], "changed"));
  await using _next = await set.dial({ host: "web", port: 80 }, { signal });
  assert.equal(links.length, 2);
  await clock.advance(60_000);
  assert.equal(before?.link.forwards.status().streams, 1);
  conn.abort();
  await clock.advance(10_000);
  assert.equal(before?.link.forwards.status().sessions, 0);
  // The link is closed and opens no further connections.
  const late = before?.link.dial({ host: "web", port: 80 }, { signal }) ?? assert.fail();
  await assert.rejects(late, (error) => error instanceof PosternError && error.code === "cancelled");
});

Deno.test("ClusterSet lets a running dial finish when the kubeconfig changes", async () => {
  const { set, clock, links } = await made({}, ["one"], { isGone: (pod) => pod === "web-1" });
  await using _set = set;
  // The pod has vanished: the dial waits for its replacement on a clock that stands still.
  const dialling = set.dial({ host: "web", port: 80 }, { signal });
  dialling.catch(() => {});
  const [before] = links;
  while (before?.asked.length === 0) await settle();
  set.renew(await configOf(["one"], "changed"));
  await clock.advance(60_000);
  before?.view.change({ ...before.view.parts, slices: { "shop/web": [sliceRecord(["web-2"], 8080)] } });
  await using _conn = await dialling;
  assert.deepEqual(before?.asked, ["web-1", "web-2"]);
});

Deno.test("ClusterSet retires the former current context, and creates a new link when it becomes current again", async () => {
  const { set, clock, links } = await made({});
  await using _set = set;
  const conn = await set.dial({ host: "web", port: 80 }, { signal });
  const [one] = links;
  set.renew(await configOf(["two", "one"]));
  assert.deepEqual(set.links, []);
  assert.equal(set.single, links[1]?.link);
  // Its connections end first.
  await clock.advance(60_000);
  assert.equal(one?.link.forwards.status().streams, 1);
  conn.abort();
  await clock.advance(10_000);
  assert.equal(one?.link.forwards.status().sessions, 0);
  set.renew(await configOf(["one", "two"]));
  assert.equal(set.single, links[2]?.link);
});
