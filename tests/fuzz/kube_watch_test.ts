import assert from "node:assert/strict";
import fc from "fast-check";
import { KubeLines } from "../../src/kube/api/kube_lines.ts";
import { metaOf, podRecord, serviceRecord, sliceRecord } from "../../src/kube/api/kube_records.ts";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import { WatchState } from "../../src/kube/api/watch_state.ts";
import { isPosternError, PosternError } from "../../src/words/mod.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { MemoryFiles } from "../support/memory_files.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Cuts bytes at any position, also within a character. */
function cutAt(whole: Uint8Array<ArrayBuffer>, cuts: readonly number[]): Uint8Array<ArrayBuffer>[] {
  const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => whole.slice(from, places[index] ?? whole.length));
}

Deno.test("KubeLines returns the same values for any cuts", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.array(fc.nat()), (values, cuts) => {
      const whole = bytes(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
      const lines = new KubeLines();
      const read = cutAt(whole, cuts).flatMap((piece) => lines.push(piece));
      assert.deepEqual(read, JSON.parse(JSON.stringify(values)));
    }),
    { numRuns: fuzzRuns(300) },
  );
});

Deno.test("KubeLines returns values or throws protocol for random bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat()), (junk, cuts) => {
      const lines = new KubeLines({ limit: 50 });
      try {
        for (const piece of cutAt(new Uint8Array(junk), cuts)) lines.push(piece);
      } catch (error) {
        assert.ok(isPosternError(error, "protocol"), String(error));
      }
    }),
    { numRuns: fuzzRuns(500) },
  );
});

const name = fc.constantFrom("a", "b", "c", "d");
const change = fc.record({ type: fc.constantFrom("ADDED", "MODIFIED", "DELETED"), name });

/** A state with the contents of its sink. */
function observed() {
  const held = new Map<string, string>();
  const state = new WatchState({
    put: (_object, meta) => held.set(meta.name, meta.resourceVersion),
    remove: ({ name }) => held.delete(name),
  });
  state.beginList();
  state.page({ metadata: { resourceVersion: "1" }, items: [] });
  return { state, held };
}

Deno.test("WatchState has the same contents if parts of its history repeat", () => {
  fc.assert(
    fc.property(fc.array(change), fc.array(fc.tuple(fc.nat(), fc.nat())), (changes, repeats) => {
      const history = changes.map(({ type, name }, index) => ({
        type,
        object: { metadata: { namespace: "n", name, resourceVersion: String(index + 2) } },
      }));
      const noisy: typeof history = [];
      for (const [index, event] of history.entries()) {
        noisy.push(event);
        for (const [at, which] of repeats) {
          const again = history[which % (index + 1)];
          if (at % history.length === index && again) noisy.push(again);
        }
      }
      const [plain, disturbed] = [observed(), observed()];
      for (const event of history) plain.state.event(event);
      for (const event of noisy) disturbed.state.event(event);
      assert.deepEqual([...disturbed.held].sort(), [...plain.held].sort());
      assert.equal(disturbed.state.resourceVersion, plain.state.resourceVersion);
      assert.equal(plain.state.objects, plain.held.size);
    }),
    { numRuns: fuzzRuns(300) },
  );
});

const key = fc.constantFrom(
  ...[
    "metadata",
    "name",
    "namespace",
    "labels",
    "kubernetes.io/service-name",
    "spec",
    "status",
    "ports",
    "port",
  ],
  ...[
    "endpoints",
    "addresses",
    "conditions",
    "ready",
    "targetRef",
    "kind",
    "clusterIP",
    "clusterIPs",
    "type",
  ],
  ...[
    "items",
    "object",
    "continue",
    "resourceVersion",
    "annotations",
    "containers",
    "podIPs",
    "ip",
    "__proto__",
  ],
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom<unknown>(null, 1, true, "", "None", "Pod", "ADDED", "BOOKMARK", "ERROR", "10.0.0.1", "x"),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 6 }),
  ),
}));

Deno.test("readers of objects accept any JSON, and the state accepts any event or throws protocol", () => {
  fc.assert(
    fc.property(tree, tree, (object, other) => {
      const meta = metaOf(object) ?? { namespace: "", name: "x", resourceVersion: "" };
      serviceRecord(object, meta);
      sliceRecord(object);
      podRecord(object);
      const { state } = observed();
      for (const value of [object, { type: "ADDED", object }, { type: "DELETED", object: other }]) {
        try {
          state.event(value);
        } catch (error) {
          assert.ok(isPosternError(error, "protocol"), String(error));
        }
      }
    }),
    { numRuns: fuzzRuns(500) },
  );
});

const kubeKey = fc.constantFrom(
  ...[
    "clusters",
    "contexts",
    "users",
    "name",
    "cluster",
    "context",
    "user",
    "server",
    "exec",
    "command",
    "args",
  ],
  ...[
    "apiVersion",
    "env",
    "token",
    "tokenFile",
    "proxy-url",
    "certificate-authority-data",
    "as",
    "as-groups",
  ],
);
const { config } = fc.letrec((tie) => ({
  config: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom<unknown>(null, 1, true, "", "x", "https://x", "client.authentication.k8s.io/v1", "!"),
    fc.array(tie("config"), { maxLength: 4 }),
    fc.dictionary(kubeKey, tie("config"), { maxKeys: 6 }),
  ),
}));

Deno.test("readKubeConfig() reads any text or reports its problems", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(config.map((value) => JSON.stringify(value)), fc.string({ maxLength: 100 })),
      async (text) => {
        try {
          const read = await readKubeConfig(new MemoryFiles({ "/c": text }), ["/c"]);
          for (const name of read.contextNames) read.context(name);
        } catch (error) {
          assert.ok(error instanceof PosternError && error.code === "config", String(error));
        }
      },
    ),
    { numRuns: fuzzRuns(500) },
  );
});
