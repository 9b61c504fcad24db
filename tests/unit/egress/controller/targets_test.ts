import assert from "node:assert/strict";
import type {
  KubeObject,
  KubeObjects,
  ObjectKind,
  ObjectPatch,
  ObjectPlace,
} from "../../../../src/kube/mod.ts";
import { Counter } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { BundleTargets } from "../../../../src/egress/controller/bundle_targets.ts";
import { FencedObjects } from "../../../../src/egress/controller/fenced_objects.ts";
import { kinds } from "../../../../src/egress/controller/kinds.ts";
import { Notes } from "../../../../src/egress/controller/notes.ts";
import { WorkQueue } from "../../../../src/egress/controller/work_queue.ts";
import { WorkloadTargets } from "../../../../src/egress/controller/workload_targets.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { recordingLog } from "../../../support/recording_log.ts";

type Mapping = Record<string, unknown>;

/** Keeps objects as an API server does, and has every object written by somebody else right before our first write. */
class BusyServer {
  readonly objects = new Map<string, Mapping & { metadata: Mapping }>();
  /** Writes that were done, by object. */
  readonly done = new Map<string, number>();
  readonly tried = new Map<string, number>();
  isAway = false;
  /** Refuses every write, as an API server does until it has read its roles. */
  refuses = false;
  /** Does the write, and its answer is lost. */
  losesAnswers = false;
  #version = 0;

  put(kind: ObjectKind, name: string, object: Mapping): KubeObject {
    const metadata = {
      ...object["metadata"] as Mapping,
      namespace: "ns",
      name,
      uid: `uid-${name}`,
      resourceVersion: `${++this.#version}`,
    };
    const made = { ...object, metadata };
    this.objects.set(`${kind.kind}/${name}`, made);
    return made;
  }

  readonly client = {
    read: (kind: ObjectKind, { name }: ObjectPlace) => {
      this.#expectThere();
      return Promise.resolve(this.objects.get(`${kind.kind}/${name}`));
    },
    create: () => Promise.resolve({ outcome: "written", object: {} }),
    patch: (kind: ObjectKind, { name, body }: ObjectPatch) => {
      this.#expectThere();
      const key = `${kind.kind}/${name}`;
      const tried = (this.tried.get(key) ?? 0) + 1;
      this.tried.set(key, tried);
      if (this.refuses) throw new PosternError("not_allowed", "Cannot patch it: forbidden");
      const held = this.objects.get(key);
      if (tried === 1 && held) held.metadata["resourceVersion"] = `${++this.#version}`;
      const given = body["metadata"] as Mapping;
      if (!held) return Promise.resolve({ outcome: "missing", why: "gone" });
      if (given["resourceVersion"] !== held.metadata["resourceVersion"]) {
        return Promise.resolve({ outcome: "conflict", why: "changed" });
      }
      const metadata = { ...held.metadata, ...given, resourceVersion: `${++this.#version}` };
      const object = { ...held, ...body, metadata };
      this.objects.set(key, object);
      this.done.set(key, (this.done.get(key) ?? 0) + 1);
      if (this.losesAnswers) {
        return Promise.reject(new PosternError("unreachable", "Cannot read an answer: it closed"));
      }
      return Promise.resolve({ outcome: "written", object: { metadata } });
    },
  } as unknown as KubeObjects;

  #expectThere(): void {
    if (this.isAway) throw new PosternError("unreachable", "Cannot reach the API server");
  }
}

function parts(server: BusyServer, signal: AbortSignal, remaining = () => 10_000) {
  const clock = new FakeClock();
  const log = recordingLog();
  const objects = new FencedObjects({
    objects: server.client,
    leadership: { signal, remaining },
    writes: new Counter("writes", "", ["kind", "outcome"]),
  });
  const notes = new Notes({ objects, clock, log, instance: "one" }, { signal });
  return { clock, objects, notes, random: () => 0.5, takesOver: false, log };
}

const label = { labels: { "config.openshift.io/inject-trusted-cabundle": "true" } };
const names = Array.from({ length: 30 }, (_, at) => `m${at}`);
const metaOf = (name: string, version: unknown) => ({
  namespace: "ns",
  name,
  resourceVersion: String(version),
});

function bundles(server: BusyServer, signal: AbortSignal, remaining?: () => number) {
  const given = parts(server, signal, remaining);
  const targets = new BundleTargets(given, { signal });
  targets.want({ text: "bundle", hash: "1" });
  for (const name of names) {
    const object = server.put(kinds.configMap, name, { metadata: label, data: { other: "kept" } });
    targets.sink.put(object, metaOf(name, (object["metadata"] as Mapping)["resourceVersion"]));
  }
  return { ...given, targets };
}

const once = names.map((name) => [`ConfigMap/${name}`, 1]);

Deno.test("BundleTargets writes each map once, though every first write is a conflict", async () => {
  const server = new BusyServer();
  const { signal } = new AbortController();
  const { clock, targets, notes } = bundles(server, signal);
  await clock.advance(60_000);
  assert.equal(targets.pending, 0);
  assert.deepEqual([...server.done].sort(), [...once].sort());
  targets.want({ text: "bundle", hash: "1" });
  await clock.advance(60_000);
  assert.deepEqual([...server.done].sort(), [...once].sort());
  await targets[Symbol.asyncDispose]();
  await notes[Symbol.asyncDispose]();
});

Deno.test("BundleTargets writes nothing twice where answers are lost, and nothing is lost over an outage", async () => {
  const server = new BusyServer();
  const { signal } = new AbortController();
  const { clock, targets, notes } = bundles(server, signal);
  server.losesAnswers = true;
  await clock.advance(2_000);
  server.isAway = true;
  await clock.advance(60_000);
  server.isAway = false;
  server.losesAnswers = false;
  await clock.advance(120_000);
  assert.equal(targets.pending, 0);
  assert.deepEqual([...server.done].sort(), [...once].sort());
  await targets[Symbol.asyncDispose]();
  await notes[Symbol.asyncDispose]();
});

Deno.test("BundleTargets soon retries a refused write, and retries less and less often", async () => {
  const server = new BusyServer();
  const { signal } = new AbortController();
  const { clock, targets, notes } = bundles(server, signal);
  server.refuses = true;
  await clock.advance(1_000);
  server.refuses = false;
  await clock.advance(10_000);
  assert.equal(targets.pending, 0);
  assert.deepEqual([...server.done].sort(), [...once].sort());

  server.refuses = true;
  server.tried.clear();
  targets.want({ text: "bundle 2", hash: "2" });
  await clock.advance(3_600_000);
  const tries = server.tried.get("ConfigMap/m0") ?? 0;
  assert.ok(tries > 10 && tries < 25, `${tries} tries in an hour`);
  await targets[Symbol.asyncDispose]();
  await notes[Symbol.asyncDispose]();
});

Deno.test("WorkQueue ends the pause of an outage when it is hurried", async () => {
  const clock = new FakeClock();
  let isAway = true;
  const done: string[] = [];
  await using queue = new WorkQueue(new AbortController().signal, {
    clock,
    random: () => 0.5,
    most: 4,
    work: (key) => {
      if (isAway) throw new PosternError("unreachable", "Cannot reach the API server");
      done.push(key);
      return Promise.resolve("done");
    },
    onError: () => {},
  });
  queue.add("a");
  queue.add("b");
  await clock.advance(60_000);
  isAway = false;
  queue.hurry("a");
  await clock.advance(0);
  assert.deepEqual(done.sort(), ["a", "b"]);
  assert.equal(clock.waiting, 0);
});

Deno.test("BundleTargets begins no write that may outlast the leadership", async () => {
  const server = new BusyServer();
  const { signal } = new AbortController();
  const { clock, targets, notes } = bundles(server, signal, () => 400);
  await clock.advance(60_000);
  assert.deepEqual([...server.tried], []);
  assert.equal(targets.pending, names.length);
  await targets[Symbol.asyncDispose]();
  await notes[Symbol.asyncDispose]();
});

Deno.test("WorkloadTargets writes each workload once, though every first write is a conflict", async () => {
  const server = new BusyServer();
  const { signal } = new AbortController();
  const given = parts(server, signal);
  const targets = new WorkloadTargets(given, { signal });
  const sink = targets.sinkOf(kinds.deployment);
  targets.want({ httpProxy: "http://p:3128", httpsProxy: "", noProxy: "a" });
  for (const name of names) {
    const object = server.put(kinds.deployment, name, {
      metadata: { annotations: { "config.openshift.io/inject-proxy": "main" } },
      spec: { template: { spec: { containers: [{ name: "main" }] } } },
    });
    sink.put(object, metaOf(name, (object["metadata"] as Mapping)["resourceVersion"]));
  }
  await given.clock.advance(60_000);
  assert.equal(targets.pending, 0);
  assert.deepEqual([...server.done].sort(), names.map((name) => [`Deployment/${name}`, 1]).sort());
  await targets[Symbol.asyncDispose]();
  await given.notes[Symbol.asyncDispose]();
});
