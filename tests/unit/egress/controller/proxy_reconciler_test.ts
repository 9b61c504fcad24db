import assert from "node:assert/strict";
import type {
  KubeObject,
  KubeObjects,
  ObjectKind,
  ObjectPatch,
  ObjectPlace,
} from "../../../../src/kube/mod.ts";
import { isMapping } from "../../../../src/config/mod.ts";
import { Counter } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { FencedObjects } from "../../../../src/egress/controller/fenced_objects.ts";
import { clusterName, kinds, managedBundle, statusName } from "../../../../src/egress/controller/kinds.ts";
import { Notes } from "../../../../src/egress/controller/notes.ts";
import { ProxyReconciler } from "../../../../src/egress/controller/proxy_reconciler.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { recordingLog } from "../../../support/recording_log.ts";

/** Stores objects by kind and name, and can reject writes of the bundle. */
class Server {
  readonly objects = new Map<string, KubeObject>();
  refusal: PosternError | undefined;
  /** Another client always writes the report first. */
  isReportBusy = false;
  #version = 0;

  put({ kind }: ObjectKind, name: string, object: KubeObject): void {
    const metadata = { name, uid: name, generation: 1, resourceVersion: `${++this.#version}` };
    this.objects.set(`${kind}/${name}`, { ...object, metadata });
  }

  get({ kind }: ObjectKind, name: string): KubeObject | undefined {
    return this.objects.get(`${kind}/${name}`);
  }

  readonly client = {
    read: (kind: ObjectKind, { name }: ObjectPlace) => Promise.resolve(this.get(kind, name)),
    create: () => Promise.resolve({ outcome: "written", object: {} }),
    patch: (kind: ObjectKind, { name, body, isDryRun }: ObjectPatch) => {
      if (name === managedBundle.name && this.refusal) return Promise.reject(this.refusal);
      if (name === statusName && this.isReportBusy) {
        return Promise.resolve({ outcome: "conflict", why: "changed" });
      }
      const { metadata: _given, ...fields } = body;
      const object = { ...this.get(kind, name), ...fields };
      if (isDryRun !== true) this.put(kind, name, object);
      return Promise.resolve({ outcome: "written", object });
    },
  } as unknown as KubeObjects;
}

function reconcilerOf(server: Server, signal: AbortSignal) {
  const [clock, log] = [new FakeClock(), recordingLog()];
  const objects = new FencedObjects({
    objects: server.client,
    leadership: { signal, remaining: () => 10_000 },
    writes: new Counter("writes", "", ["kind", "outcome"]),
  });
  const notes = new Notes({ objects, clock, log, instance: "one" }, { signal });
  const reconciler = new ProxyReconciler({
    objects,
    notes,
    clock,
    log,
    probe: () => Promise.resolve([]),
    namespace: "postern",
    settings: {},
    system: [{ base64: "AAAA", subject: "one" }],
    takesOver: false,
    onAccepted: () => Promise.resolve(),
  });
  return { reconciler, [Symbol.asyncDispose]: () => notes[Symbol.asyncDispose]() };
}

Deno.test("ProxyReconciler retries until a deleted bundle is back, also while the proxy is rejected", async () => {
  const { signal } = new AbortController();
  const server = new Server();
  await using parts = reconcilerOf(server, signal);
  const { reconciler } = parts;
  const message = () => {
    const data = server.get(kinds.configMap, statusName)?.["data"];
    return isMapping(data) ? String(data["message"]) : "";
  };
  server.put(kinds.proxy, clusterName, { spec: {} });
  assert.equal(await reconciler.reconcile({ signal }), "done");
  const bundle = server.get(kinds.configMap, managedBundle.name)?.["data"];
  assert.match(JSON.stringify(bundle), /AAAA/);

  server.put(kinds.proxy, clusterName, { spec: { noProxy: "a.test" } });
  server.objects.delete(`ConfigMap/${managedBundle.name}`);
  server.refusal = new PosternError("not_allowed", "Cannot patch it: there is no right to");
  assert.equal(await reconciler.reconcile({ signal }), "again");
  assert.match(message(), /needs a proxy.*cannot write the ConfigMap .*trusted-ca-bundle: .*no right to/);

  server.refusal = undefined;
  assert.equal(await reconciler.reconcile({ signal }), "done");
  assert.deepEqual(server.get(kinds.configMap, managedBundle.name)?.["data"], bundle);
  assert.doesNotMatch(message(), /cannot be written/);
});

Deno.test("ProxyReconciler retries when it could not write its report, for accepted and rejected proxies", async () => {
  const { signal } = new AbortController();
  for (const spec of [{}, { noProxy: "a.test" }]) {
    const server = new Server();
    await using parts = reconcilerOf(server, signal);
    const { reconciler } = parts;
    server.put(kinds.proxy, clusterName, { spec });
    server.isReportBusy = true;
    assert.equal(await reconciler.reconcile({ signal }), "again");
    server.isReportBusy = false;
    assert.equal(await reconciler.reconcile({ signal }), "done");
    assert.ok(server.get(kinds.configMap, statusName));
  }
});
