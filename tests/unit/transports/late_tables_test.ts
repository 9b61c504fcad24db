import assert from "node:assert/strict";
import type { FarTable, FarTables } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { LateTables } from "../../../src/transports/late_tables.ts";

const { signal } = new AbortController();

/** Tables of a cluster that a test controls. */
class SpokenTables implements FarTables {
  current: FarTable | undefined;
  readonly domain = undefined;
  isRecalled = false;
  followed = 0;
  readonly ears = new Set<() => void>();

  recall(): Promise<void> {
    this.isRecalled = true;
    return Promise.resolve();
  }

  follow(): Promise<void> {
    this.followed++;
    return Promise.resolve();
  }

  onChange(changed: () => void): Disposable {
    this.ears.add(changed);
    return { [Symbol.dispose]: () => void this.ears.delete(changed) };
  }

  says(...services: readonly string[]): void {
    this.current = { services: new Set(services), addresses: new Set() };
    for (const ear of this.ears) ear();
  }
}

Deno.test("LateTables opens nothing before follow(), and then has the cluster's tables", async () => {
  const cluster = new SpokenTables();
  let opened = 0;
  using tables = new LateTables(() => {
    opened++;
    return Promise.resolve(cluster);
  });
  let changes = 0;
  using _ear = tables.onChange(() => changes++);
  assert.deepEqual([opened, tables.current], [0, undefined]);
  await tables.follow({ signal });
  assert.deepEqual([opened, cluster.followed, changes], [1, 1, 1]);
  cluster.says("web.shop");
  assert.equal(changes, 2);
  assert.equal(tables.current, cluster.current);
});

Deno.test("LateTables subscribes to one cluster once, and after a change of the kubeconfig only to the new one", async () => {
  const [before, after] = [new SpokenTables(), new SpokenTables()];
  let now = before;
  using tables = new LateTables(() => Promise.resolve(now));
  for (let left = 2; left > 0; left--) await tables.follow({ signal });
  assert.equal(before.ears.size, 1);
  now = after;
  await tables.follow({ signal });
  assert.deepEqual([before.ears.size, after.ears.size], [0, 1]);
  before.says("old");
  assert.deepEqual([tables.current], [undefined]);
  after.says("new");
  assert.deepEqual([...tables.current?.services ?? []], ["new"]);
});

Deno.test("LateTables reports why there is no cluster, and tries again on the next follow()", async () => {
  const cluster = new SpokenTables();
  const failure = new Error("no kubeconfig");
  let isThere = false;
  using tables = new LateTables(() => isThere ? Promise.resolve(cluster) : Promise.reject(failure));
  await assert.rejects(tables.follow({ signal }), failure);
  isThere = true;
  await tables.follow({ signal });
  assert.equal(cluster.followed, 1);
});

Deno.test("LateTables reports no change after its disposal", async () => {
  const cluster = new SpokenTables();
  const tables = new LateTables(() => Promise.resolve(cluster));
  let changes = 0;
  tables.onChange(() => changes++);
  await tables.follow({ signal });
  tables[Symbol.dispose]();
  cluster.says("web");
  assert.deepEqual([changes, cluster.ears.size], [1, 0]);
});

Deno.test("LateTables forgets the table of a replaced cluster, and reports the change", async () => {
  const [before, after] = [new SpokenTables(), new SpokenTables()];
  let now = before;
  using tables = new LateTables(() => Promise.resolve(now));
  await tables.follow({ signal });
  before.says("old");
  let changes = 0;
  using _ear = tables.onChange(() => changes++);
  tables.keepOnly(before);
  assert.deepEqual([tables.current, changes], [before.current, 0]);
  now = after;
  tables.keepOnly(undefined);
  assert.deepEqual([tables.current, changes, before.ears.size], [undefined, 1, 0]);
  await tables.follow({ signal });
  after.says("new");
  assert.deepEqual([...tables.current?.services ?? []], ["new"]);
});

Deno.test("LateTables recalls the stored facts of its cluster, and of the next one after a change", async () => {
  const [before, after] = [new SpokenTables(), new SpokenTables()];
  let now = before;
  using tables = new LateTables(() => Promise.resolve(now));
  assert.equal(tables.isRecalled, false);
  await tables.recall({ signal });
  assert.deepEqual([tables.isRecalled, before.isRecalled, before.followed], [true, true, 0]);
  now = after;
  tables.keepOnly(undefined);
  assert.equal(tables.isRecalled, false);
  await tables.recall({ signal });
  assert.equal(after.isRecalled, true);
});

Deno.test("LateTables counts as recalled when the kubeconfig cannot be read", async () => {
  const failure = new PosternError("config", "Cannot read the kubeconfig");
  using tables = new LateTables(() => Promise.reject(failure));
  let changes = 0;
  using _ear = tables.onChange(() => changes++);
  await tables.recall({ signal });
  assert.deepEqual([tables.isRecalled, tables.domain, changes], [true, undefined, 1]);
  await assert.rejects(tables.follow({ signal }), failure);
});
