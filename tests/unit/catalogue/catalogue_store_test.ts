import assert from "node:assert/strict";
import type { Catalogue } from "../../../src/clusters/mod.ts";
import { CatalogueStore } from "../../../src/catalogue/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const { signal } = new AbortController();
const directory = "/cache/catalogue";
const path = `${directory}/catalogue.kv`;
const copy = `${directory}/snapshot.json`;

class Place {
  readonly world = new MemoryWorld();
  readonly store = new CatalogueStore({
    clock: this.world.clock,
    files: this.world.files,
    stores: this.world.stores,
    directory,
  });

  put(catalogue: Catalogue) {
    return this.store.put(catalogue, { signal });
  }

  async names(): Promise<string[]> {
    return (await this.store.read()).catalogues.map(({ name, fetched }) => `${name} ${fetched.slice(0, 4)}`);
  }

  /** The number of pieces. */
  pieces(): number {
    const values = this.world.stores.all.get(path);
    return values instanceof Map ? [...values.keys()].filter((key) => key.startsWith('["piece"')).length : 0;
  }
}

Deno.test("CatalogueStore reads an empty store without creating a file", async () => {
  const place = new Place();
  assert.deepEqual(await place.store.read(), { catalogues: [], notes: [] });
  assert.equal(place.world.stores.all.size, 0);
});

Deno.test("CatalogueStore returns the stored catalogue", async () => {
  const place = new Place();
  const mapping = { jumphosts: { "x.example.net": "jump1" }, direct: ["y.x.example.net"] };
  const whole = { ...catalogue("main", 2026, 3), mapping };
  assert.deepEqual(await place.put(whole), []);
  assert.deepEqual(await place.store.read(), { catalogues: [whole], notes: [] });
  assert.equal(place.world.stores.opened, 0);
});

Deno.test("CatalogueStore stores a catalogue larger than a value and a commit", async () => {
  const place = new Place();
  const large = catalogue("main", 2026, 20_000);
  await place.put(large);
  assert.deepEqual((await place.store.read()).catalogues, [large]);
  assert.ok(place.pieces() > 20, `${place.pieces()}`);
});

Deno.test("CatalogueStore replaces a catalogue by name, keeps the others and removes old pieces", async () => {
  const place = new Place();
  await place.put(catalogue("main", 2024, 2000));
  await place.put(catalogue("other", 2025, 1));
  await place.put(catalogue("main", 2026, 1));
  assert.deepEqual(await place.names(), ["main 2026", "other 2025"]);
  assert.equal(place.pieces(), 2);
  await place.store.remove("main", { signal });
  assert.deepEqual(await place.names(), ["other 2025"]);
  assert.equal(place.pieces(), 1);
});

Deno.test("CatalogueStore keeps the old catalogue after a failure in any commit, and removes the new pieces", async () => {
  const place = new Place();
  await place.put(catalogue("main", 2024, 1));
  for (let failing = 1;; failing++) {
    let count = 0;
    place.world.stores.beforeCommit = () => {
      if (++count === failing) throw new PosternError("internal", "no space left");
    };
    const isStored = await place.put(catalogue("main", 2026, 20_000)).then(() => true, () => false);
    if (isStored) {
      assert.ok(failing > 3, `${failing}`);
      break;
    }
    assert.deepEqual(await place.names(), ["main 2024"]);
    assert.equal(place.pieces(), 1);
  }
  assert.deepEqual(await place.names(), ["main 2026"]);
});

Deno.test("CatalogueStore writes a private copy and uses it if the store is missing", async () => {
  const place = new Place();
  await place.put(catalogue("main", 2026, 1));
  assert.equal((await place.world.files.info(copy))?.mode, 0o600);
  assert.deepEqual(JSON.parse(await place.world.files.readText(copy)), {
    format: 1,
    catalogues: [catalogue("main", 2026, 1)],
  });
  await place.world.stores.setAside(path, "gone");
  assert.deepEqual(await place.names(), ["main 2026"]);
  await place.put(catalogue("other", 2026, 1));
  assert.deepEqual(await place.names(), ["main 2026", "other 2026"]);
});

const unusable: {
  readonly name: string;
  readonly spoil: (place: Place) => void;
  readonly says: RegExp;
  readonly aside: string;
}[] = [
  {
    name: "damaged",
    spoil: (place) =>
      void place.world.stores.all.set(
        path,
        new PosternError("config", `Cannot use "${path}": it is damaged: x`, { detail: "damaged" }),
      ),
    says: /it is damaged: x/,
    aside: "damaged-20260101T000000Z",
  },
  {
    name: "written by a newer postern",
    spoil: (place) => values(place).set('["format"]', 2),
    says: /a newer postern wrote it \(format 2\)/,
    aside: "newer-20260101T000000Z",
  },
  {
    name: "written by a newer postern in this version's format",
    spoil: (place) => values(place).set('["format"]', new TextEncoder().encode("2")),
    says: /a newer postern wrote it \(format 2\)/,
    aside: "newer-20260101T000000Z",
  },
  {
    name: "whose pointer is not JSON",
    spoil: (place) => values(place).set('["catalogue","main"]', Uint8Array.of(1, 2)),
    says: /it is damaged: it contains a value that is not JSON/,
    aside: "damaged-20260101T000000Z",
  },
  {
    name: "without a current piece",
    spoil: (place) => {
      for (const key of values(place).keys()) if (key.startsWith('["piece"')) values(place).delete(key);
    },
    says: /it is damaged: a part of a catalogue is missing/,
    aside: "damaged-20260101T000000Z",
  },
  {
    name: "with a changed piece",
    spoil: (place) => {
      for (const [key, value] of values(place)) {
        if (key.startsWith('["piece"') && value instanceof Uint8Array) {
          values(place).set(
            key,
            value.map((byte) => byte ^ 1),
          );
        }
      }
    },
    says: /it is damaged: a part of a catalogue has changed/,
    aside: "damaged-20260101T000000Z",
  },
  {
    name: "with an invalid pointer",
    spoil: (place) => values(place).set('["catalogue","main"]', "x"),
    says: /its pointer to a catalogue is invalid/,
    aside: "damaged-20260101T000000Z",
  },
];
for (const { name, spoil, says, aside } of unusable) {
  Deno.test(`CatalogueStore reads the copy of a store that is ${name}`, async () => {
    const place = new Place();
    await place.put(catalogue("main", 2026, 1));
    spoil(place);
    const { catalogues, notes } = await place.store.read();
    assert.equal(catalogues.length, 1);
    assert.match(notes.join(), says);
    assert.match(notes.join(), /; postern uses its copy$/);
    assert.equal(place.world.stores.opened, 0);
  });

  Deno.test(`CatalogueStore reports a store without a copy that is ${name}, with a hint`, async () => {
    const place = new Place();
    await place.put(catalogue("main", 2026, 1));
    spoil(place);
    await place.world.files.remove(copy);
    await assert.rejects(place.store.read(), (error) => {
      assert.ok(error instanceof PosternError);
      assert.equal(error.code, "config");
      assert.match(error.message, says);
      assert.match(error.hint ?? "", /postern update/);
      return true;
    });
  });

  Deno.test(`CatalogueStore sets aside a store that is ${name}, and continues with the copy`, async () => {
    const place = new Place();
    await place.put(catalogue("main", 2024, 1));
    await place.put(catalogue("other", 2025, 1));
    spoil(place);
    const notes = await place.put(catalogue("main", 2026, 1));
    assert.match(notes.join(), says);
    assert.ok(
      notes.join().includes(`postern renamed it to "${path}.${aside}" and created a new store`),
      notes.join(),
    );
    assert.ok(place.world.stores.all.has(`${path}.${aside}`));
    assert.deepEqual(await place.names(), ["main 2026", "other 2025"]);
    assert.deepEqual((await place.store.read()).notes, []);
  });
}

Deno.test("CatalogueStore reads the copy next to a new, still empty store", async () => {
  const place = new Place();
  const { stores } = place.world;
  await place.put(catalogue("main", 2024, 1));
  stores.all.set(path, new PosternError("config", "it is damaged: x", { detail: "damaged" }));
  const full = new PosternError("internal", "no space left");
  stores.beforeCommit = () => {
    throw full;
  };
  await assert.rejects(place.put(catalogue("main", 2026, 1)), full);
  assert.deepEqual(await place.names(), ["main 2024"]);
  stores.beforeCommit = () => {};
  await place.put(catalogue("main", 2026, 1));
  assert.deepEqual(await place.names(), ["main 2026"]);
  await place.store.remove("main", { signal });
  assert.deepEqual(await place.store.read(), { catalogues: [], notes: [] });
});

for (
  const text of [
    "",
    "{}",
    "[]",
    '{"format":2,"catalogues":[]}',
    '{"format":1,"catalogues":[{}]}',
    '{"format":1',
  ]
) {
  Deno.test(`CatalogueStore ignores the copy ${text || "without a text"}`, async () => {
    const place = new Place();
    place.world.files.put(copy, text);
    await assert.rejects(
      place.store.read(),
      (error) => error instanceof PosternError && error.code === "config",
    );
    await place.put(catalogue("main", 2026, 1));
    assert.deepEqual(await place.names(), ["main 2026"]);
  });
}

Deno.test("CatalogueStore reads the copy without a note if it may not open the store", async () => {
  const place = new Place();
  await place.put(catalogue("main", 2026, 1));
  place.world.stores.all.set(path, new PosternError("not_allowed", "read-only"));
  assert.deepEqual(await place.store.read(), { catalogues: [catalogue("main", 2026, 1)], notes: [] });
  await assert.rejects(place.put(catalogue("main", 2027, 1)), { code: "not_allowed" });
});

Deno.test("CatalogueStore waits for a store in creation, which looks damaged", async () => {
  const place = new Place();
  const { clock, files, stores } = place.world;
  await place.put(catalogue("main", 2026, 1));
  const made = stores.all.get(path);
  assert.ok(made instanceof Map);
  await files.remove(copy);
  stores.all.set(
    path,
    new PosternError("config", `Cannot use "${path}": it is damaged`, { detail: "damaged" }),
  );
  const lock = await files.lock(`${directory}/lock`);
  const reading = place.names();
  await clock.advance(1000);
  stores.all.set(path, made);
  lock?.[Symbol.dispose]();
  await clock.advance(1000);
  assert.deepEqual(await reading, ["main 2026"]);
});

Deno.test("CatalogueStore removes only unfinished copies of killed updates", async () => {
  const place = new Place();
  const { files } = place.world;
  const names = ["snapshot.json.0a1b2c3d.tmp", "snapshot.json.mine", "catalogue.kv.damaged-1"];
  for (const name of names) files.put(`${directory}/${name}`, "x");
  await place.put(catalogue("main", 2026, 1));
  const left = await Promise.all(
    names.map(async (name) => Boolean(await files.info(`${directory}/${name}`))),
  );
  assert.deepEqual(left, [false, true, true]);
});

Deno.test("CatalogueStore waits for another update, up to a limit", async () => {
  const place = new Place();
  using lock = await place.world.files.lock(`${directory}/lock`);
  assert.ok(lock);
  const late = place.put(catalogue("main", 2026, 1)).catch((error) => error);
  await place.world.clock.advance(30_100);
  assert.equal((await late).code, "timeout");
  const patient = place.put(catalogue("main", 2026, 1));
  await place.world.clock.advance(1000);
  lock[Symbol.dispose]();
  await place.world.clock.advance(1000);
  await patient;
  const cancelled = place.store.put(catalogue("main", 2027, 1), {
    signal: AbortSignal.abort(new Error("enough")),
  });
  await assert.rejects(cancelled, /enough/);
});

Deno.test("CatalogueStore reads complete catalogues during concurrent writes", async () => {
  const place = new Place();
  await place.put(catalogue("main", 2000, 3000));
  let isDone = false;
  const reading = (async () => {
    while (!isDone) {
      const { catalogues, notes } = await place.store.read();
      assert.deepEqual([catalogues[0]?.clusters.length, notes], [3000, []]);
    }
  })();
  for (let year = 2001; year < 2010; year++) await place.put(catalogue("main", year, 3000));
  isDone = true;
  await reading;
});

function values(place: Place): Map<string, unknown> {
  const found = place.world.stores.all.get(path);
  assert.ok(found instanceof Map);
  return found;
}

function catalogue(name: string, year: number, count: number): Catalogue {
  const clusters = Array.from({ length: count }, (_, index) => ({
    id: `c-${name}-${index}`,
    displayName: `Cluster ${index}`,
    facts: { jumphost: "jump1.example.net" },
    dynamicFacts: { openshiftBaseDomain: `c-${name}-${index}.example.net` },
  }));
  return { name, source: "https://api.example.net/", fetched: `${year}-01-01T00:00:00.000Z`, clusters };
}
