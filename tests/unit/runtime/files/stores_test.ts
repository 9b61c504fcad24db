import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { PosternError } from "../../../../src/words/mod.ts";
import { storeLimits } from "../../../../src/world/mod.ts";
import { createStores } from "../../../../src/runtime/files/stores.ts";

const stores = createStores();

Deno.test("createStores() keeps values by key, in the order of keys", async () => {
  await using place = await Place.make();
  {
    using store = await stores.open(place.path);
    assert.equal(await store.get(["a"]), undefined);
    await store.commit([
      { set: ["piece", "g", 10], value: new Uint8Array([1, 2]) },
      { set: ["piece", "g", 9], value: "x" },
      { set: ["a"], value: { n: 1 } },
    ]);
  }
  using store = await stores.open(place.path);
  assert.deepEqual(await store.get(["a"]), { n: 1 });
  assert.deepEqual(await store.list(["piece"]), [
    { key: ["piece", "g", 9], value: "x" },
    { key: ["piece", "g", 10], value: new Uint8Array([1, 2]) },
  ]);
  await store.commit([{ remove: ["a"] }, { set: ["b"], value: 2 }]);
  assert.deepEqual([await store.get(["a"]), await store.get(["b"])], [undefined, 2]);
});

Deno.test("createStores() accepts as much per commit as storeLimits allows", async () => {
  await using place = await Place.make();
  using store = await stores.open(place.path);
  const { valueBytes, commitBytes, commitChanges } = storeLimits;
  const value = crypto.getRandomValues(new Uint8Array(valueBytes));
  const count = Math.floor(commitBytes / valueBytes);
  await store.commit(Array.from({ length: count }, (_, index) => ({ set: ["large", index], value })));
  await store.commit(
    Array.from({ length: commitChanges }, (_, index) => ({ set: ["many", index], value: index })),
  );
  assert.equal((await store.list(["large"])).length, count);
  assert.equal((await store.list(["many"])).length, commitChanges);
});

Deno.test("createStores() opens one store several times concurrently", async () => {
  await using place = await Place.make();
  using one = await stores.open(place.path);
  using other = await stores.open(place.path);
  await one.commit([{ set: ["a"], value: 1 }]);
  assert.equal(await other.get(["a"]), 1);
});

const damages: {
  readonly name: string;
  readonly damage: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
}[] = [
  { name: "another kind of file", damage: () => new TextEncoder().encode("not a database\n".repeat(1000)) },
  { name: "half of a store", damage: (bytes) => bytes.subarray(0, bytes.length / 2) },
  { name: "empty", damage: () => new Uint8Array() },
  { name: "a store with every seventh byte changed, which makes Deno panic", damage: changed },
  { name: "a store without its first page", damage: (bytes) => new Uint8Array(bytes).fill(0, 0, 4096) },
];
for (const { name, damage } of damages) {
  Deno.test(`createStores() reports ${name} as damaged, and sets the store aside`, async () => {
    await using place = await Place.make();
    {
      using store = await stores.open(place.path);
      const value = crypto.getRandomValues(new Uint8Array(50_000));
      for (let index = 0; index < 10; index++) await store.commit([{ set: ["a", index], value }]);
    }
    await Deno.writeFile(place.path, damage(await Deno.readFile(place.path)));
    await assert.rejects(stores.open(place.path), (error) => {
      assert.ok(error instanceof PosternError, String(error));
      assert.deepEqual([error.code, error.detail], ["config", "damaged"]);
      assert.ok(error.message.startsWith(`Cannot use "${place.path}": it is damaged: `), error.message);
      return true;
    });
    const aside = await stores.setAside(place.path, "damaged-1");
    assert.equal(aside, `${place.path}.damaged-1`);
    assert.ok((await Deno.stat(aside)).isFile);
    using store = await stores.open(place.path);
    assert.deepEqual(await store.list([]), []);
  });
}

Deno.test("createStores() reports a store of a later runtime as newer", async () => {
  await using place = await Place.make();
  {
    using store = await stores.open(place.path);
    await store.commit([{ set: ["a"], value: { of: "V8" } }, { set: ["b"], value: Uint8Array.of(1) }]);
  }
  // The second byte is V8's format version; each V8 reads its own and older ones.
  const database = new DatabaseSync(place.path);
  database.exec("UPDATE kv SET v = CAST(x'ff63' || substr(v, 3) AS BLOB) WHERE v_encoding = 1");
  database.close();
  using store = await stores.open(place.path);
  assert.deepEqual(await store.get(["b"]), Uint8Array.of(1));
  await assert.rejects(store.get(["a"]), { code: "config", detail: "newer" });
  await assert.rejects(store.list([]), { code: "config", detail: "newer" });
});

Deno.test("createStores() rejects with config without the directory, and with not_allowed for a directory", async () => {
  await using place = await Place.make();
  await assert.rejects(stores.open(`${place.directory}/none/s.kv`), isNotInternal);
  await assert.rejects(stores.open(place.directory), isNotInternal);
  await assert.rejects(stores.setAside(place.path, "x"), { code: "config" });
});

function isNotInternal(error: unknown): boolean {
  assert.ok(error instanceof PosternError, String(error));
  assert.notEqual(error.code, "internal", error.message);
  return true;
}

function changed(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const other = bytes.slice();
  for (let at = 8192; at < other.length; at += 7) other[at] = (other[at] ?? 0) ^ 0x55;
  return other;
}

class Place implements AsyncDisposable {
  readonly directory: string;
  readonly path: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.path = `${directory}/s.kv`;
  }

  static async make(): Promise<Place> {
    return new Place(await Deno.makeTempDir({ prefix: "stores-" }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.directory, { recursive: true });
  }
}
