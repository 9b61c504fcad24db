import assert from "node:assert/strict";
import { connectInstance } from "../../../../src/instances/mod.ts";
import type { UpdatedCatalogue, UpdateReport } from "../../../../src/fleet/mod.ts";
import { catalogueStore } from "../../../../src/plan/mod.ts";
import { isPosternError } from "../../../../src/words/mod.ts";
import { startInstance } from "../../../support/memory_instance.ts";
import { UpdateWorld } from "../../../support/update_world.ts";

const { signal } = new AbortController();
const path = "/config/config.yaml";
const lieutenant = "http://127.0.0.1:8080";
const config = `listen: { mixed: 127.0.0.1:1 }\ncatalogues:\n  - { lieutenant: "${lieutenant}" }\n`;

function worldWith(text = config, env: Record<string, string> = {}): UpdateWorld {
  const update = new UpdateWorld({ env, files: text === "" ? {} : { [path]: text } });
  update.lieutenant.clusters = [cluster("c-a", "jump1"), cluster("c-b", "jump1")];
  return update;
}

const cluster = (id: string, jumphost: string) => ({
  id,
  facts: { jumphost },
  dynamicFacts: { openshiftBaseDomain: `${id}.example.net` },
});

function only({ catalogues }: UpdateReport): UpdatedCatalogue {
  const [one] = catalogues;
  assert.ok(one && !("error" in one) && !("isFresh" in one), JSON.stringify(one));
  return one;
}

async function stored({ world }: UpdateWorld) {
  return (await (await catalogueStore(world)).read()).catalogues;
}

Deno.test("updateCatalogues() signs in once, stores the catalogue and reports changes", async () => {
  await using update = worldWith();
  const first = only(await update.update());
  assert.deepEqual([first.isNew, first.clusters, first.source], [true, 2, `${lieutenant}/`]);
  assert.deepEqual(first.routes.map(({ pattern, jumphost }) => [pattern, jumphost]), [
    ["c-a.example.net", "jump1"],
    ["c-b.example.net", "jump1"],
  ]);
  update.lieutenant.clusters = [cluster("c-b", "jump2"), cluster("c-c", "jump1")];
  const { isNew, changes: { clusters, routes } } = only(await update.update());
  assert.equal(isNew, false);
  assert.deepEqual(clusters, { added: ["c-c"], removed: ["c-a"] });
  assert.deepEqual(routes.added.map(({ pattern }) => pattern), ["c-c.example.net"]);
  assert.deepEqual(routes.removed.map(({ pattern }) => pattern), ["c-a.example.net"]);
  assert.deepEqual(routes.moved.map(({ pattern, jumphost, was }) => [pattern, jumphost, was]), [
    ["c-b.example.net", "jump2", "jump1"],
  ]);
  assert.equal(update.signIn.opened.length, 1, "the second update within a minute needs no sign-in");
  assert.deepEqual((await stored(update)).map(({ name, clusters }) => [name, clusters.length]), [[
    "main",
    2,
  ]]);
});

Deno.test("updateCatalogues() uses the URL in the environment if the configuration names none", async () => {
  for (const name of ["LIEUTENANT_URL", "COMMODORE_API_URL"]) {
    await using update = worldWith("", { [name]: lieutenant });
    assert.equal(only(await update.update()).name, "main");
  }
  await using update = worldWith("");
  await assert.rejects(update.update(), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(error.hint ?? "", /LIEUTENANT_URL/);
    return true;
  });
});

Deno.test("updateCatalogues() makes running instances reload, and no others", async () => {
  await using update = worldWith(`${config}routes: [{ to: x.example, via: reject }]\n`);
  const running = await startInstance(update.signIn.memory);
  update.signIn.memory.files.put("/run/me/default.lock", "");
  const { instances } = await update.update();
  assert.deepEqual(instances.map(({ id }) => id), ["default"]);
  const client = await connectInstance(update.world, "default", { signal });
  const { because } = await client.explain({ host: "api.c-a.example.net", port: 443 }, { signal });
  assert.match(because, /catalogue main: cluster c-a fact openshiftBaseDomain/);
  assert.deepEqual(
    (await client.status({ signal })).catalogues?.map(({ name, clusters }) => [name, clusters]),
    [
      ["main", 2],
    ],
  );
  update.signIn.memory.kill("SIGTERM");
  await running.ended;
});

Deno.test("updateCatalogues() stores the catalogue and reports an instance that cannot reload it", async () => {
  await using update = worldWith(`${config}default: reject\n`);
  const running = await startInstance(update.signIn.memory);
  update.signIn.memory.files.put("/run/me/default.lock", "");
  // The instance's configuration is broken; this update reads another file.
  await update.world.files.replace("/other.yaml", config);
  await update.world.files.replace(path, "routes: 5\n");
  const { instances: [instance] } = await update.update({}, { config: "/other.yaml" });
  assert.ok(instance && "error" in instance);
  assert.match(instance.error.message, /config\.yaml/);
  assert.equal((await stored(update)).length, 1);
  update.signIn.memory.kill("SIGTERM");
  await running.ended;
});

Deno.test("updateCatalogues() stores nothing in a dry run", async () => {
  await using update = worldWith();
  assert.equal(only(await update.update({ isDryRun: true })).clusters, 2);
  assert.deepEqual(await stored(update), []);
});

Deno.test("updateCatalogues() skips a recent catalogue", async () => {
  await using update = worldWith();
  await update.update();
  const asked = update.lieutenant.tokens.length;
  const { catalogues, instances } = await update.update({ ifOlderThan: 60_000 });
  assert.deepEqual(catalogues, [{ name: "main", fetched: "2026-01-01T00:00:00.000Z", isFresh: true }]);
  assert.deepEqual([instances, update.lieutenant.tokens.length], [[], asked]);
  await update.signIn.memory.clock.advance(61_000);
  assert.equal(only(await update.update({ ifOlderThan: 60_000 })).fetched, "2026-01-01T00:01:01.000Z");
});

Deno.test("updateCatalogues() refreshes a catalogue that was stored under a wrong clock", async () => {
  await using update = worldWith();
  await update.update();
  const { clock } = update.signIn.memory;
  const date = clock.date.bind(clock);
  clock.date = () => new Date(date().getTime() - 86_400_000);
  update.signIn.server.lifetime = 172_800;
  assert.equal(only(await update.update({ ifOlderThan: 3_600_000 })).fetched, "2025-12-31T00:00:00.000Z");
});

const empties = [
  { name: "no cluster", clusters: [], says: /: http:\S+ returns no clusters, but 2 are stored$/ },
  {
    name: "only clusters with kharonIgnore",
    clusters: [{ id: "c-a", facts: { kharonIgnore: "true" } }],
    says: /returns no clusters except 1 with kharonIgnore, but 2 are stored$/,
  },
  {
    name: "no valid cluster",
    clusters: [[], 5],
    says: /returns no clusters, but 2 are stored \(cluster number 1: ignored because it is not an object\)$/,
  },
];
for (const { name, clusters, says } of empties) {
  Deno.test(`updateCatalogues() accepts ${name} only with allowsEmpty`, async () => {
    await using update = worldWith();
    update.lieutenant.clusters = clusters;
    assert.equal(only(await update.update()).clusters, 0, "an empty store has nothing to lose");
    update.lieutenant.clusters = [cluster("c-a", "jump1"), cluster("c-b", "jump1")];
    await update.update();
    update.lieutenant.clusters = clusters;
    for (const isDryRun of [true, false]) {
      const { catalogues: [failed], instances } = await update.update({ isDryRun });
      assert.ok(failed && "error" in failed && failed.error.code === "protocol");
      assert.match(failed.error.message, says);
      assert.match(failed.error.hint ?? "", /--allow-empty; postern keeps the catalogue of 0s ago$/);
      assert.deepEqual(instances, []);
    }
    assert.equal((await stored(update))[0]?.clusters.length, 2);
    assert.equal(only(await update.update({ allowsEmpty: true })).clusters, 0);
  });
}

Deno.test("updateCatalogues() reports a changed source", async () => {
  await using update = worldWith("", { LIEUTENANT_URL: lieutenant });
  assert.deepEqual(only(await update.update()).notes, []);
  const other = `catalogues:\n  - { lieutenant: "http://localhost:8080" }\n`;
  update.signIn.memory.files.put(path, other);
  const { notes } = only(await update.update());
  assert.deepEqual(notes, [`catalogue main: its source was ${lieutenant}/ before`]);
});

const failures = [
  {
    name: "that is down",
    answer: { status: 503, body: JSON.stringify({ reason: "no" }) },
    code: "unreachable",
  },
  { name: "that returns a web page", answer: { body: "<html>" }, code: "protocol" },
  { name: "that returns no list", answer: { body: '{"clusters":5}' }, code: "protocol" },
] as const;
for (const { name, answer, code } of failures) {
  Deno.test(`updateCatalogues() keeps the stored catalogue if the API is one ${name}, and reports its age`, async () => {
    await using update = worldWith();
    update.lieutenant.answer = answer;
    const [none] = (await update.update()).catalogues;
    assert.ok(none && "error" in none);
    assert.doesNotMatch(none.error.hint ?? "", /postern keeps/);
    update.lieutenant.answer = undefined;
    await update.update();
    await update.signIn.memory.clock.advance(3 * 3_600_000);
    update.signIn.server.lifetime = 86_400;
    update.lieutenant.answer = answer;
    const [failed] = (await update.update()).catalogues;
    assert.ok(failed && "error" in failed);
    assert.equal(failed.error.code, code);
    assert.match(failed.error.hint ?? "", /postern keeps the catalogue of 3h ago$/);
    assert.equal((await stored(update))[0]?.clusters.length, 2);
  });
}

Deno.test("updateCatalogues() signs in again once if the API rejects a token", async () => {
  await using update = worldWith();
  await update.update();
  const [old = ""] = update.lieutenant.tokens;
  update.lieutenant.refuses = (token) => token === old;
  only(await update.update());
  assert.equal(update.lieutenant.tokens.length, 2);
  update.lieutenant.refuses = () => true;
  const [failed] = (await update.update()).catalogues;
  assert.ok(failed && "error" in failed && failed.error.code === "auth");
});

Deno.test("updateCatalogues() uses a token from a file without asking the user", async () => {
  await using update = worldWith();
  update.signIn.memory.files.put("/token", "some-token\n");
  assert.deepEqual(only(await update.update({ token: { file: "/token" } })).notes, []);
  assert.deepEqual([update.lieutenant.tokens, update.signIn.opened, update.signIn.server.asked], [
    ["some-token"],
    [],
    0,
  ]);
});

Deno.test("updateCatalogues() warns if other users may read the token file", async () => {
  await using update = worldWith();
  update.signIn.memory.files.put("/token", "some-token\n", 0o644);
  assert.deepEqual(only(await update.update({ token: { file: "/token" } })).notes, [
    'other users may read the token in "/token": chmod 600 /token',
  ]);
});

Deno.test("updateCatalogues() continues with other catalogues after a failure", async () => {
  const two = `catalogues:\n  - { lieutenant: "http://127.0.0.1:9", name: dead }\n` +
    `  - { lieutenant: "${lieutenant}", name: main }\n`;
  await using update = worldWith(two);
  const { catalogues } = await update.update();
  assert.deepEqual(catalogues.map((one) => [one.name, "error" in one]), [["dead", true], ["main", false]]);
  assert.deepEqual((await stored(update)).map(({ name }) => name), ["main"]);
  assert.deepEqual((await update.update({ name: "main" })).catalogues.map(({ name }) => name), ["main"]);
  await assert.rejects(update.update({ name: "mian" }), /Cannot find the catalogue "mian"/);
  await assert.rejects(update.update({ token: "input" }), /one token for several catalogues/);
});

Deno.test("updateCatalogues() reports an exclusion that overrides a longer route of another cluster", async () => {
  await using update = worldWith();
  update.lieutenant.clusters = [
    { ...cluster("c-a", "jump1"), facts: { jumphost: "jump1", jumphostSkipDomains: "example.net" } },
    cluster("c-b", "jump1"),
  ];
  const { notes } = await update.update();
  assert.deepEqual(notes, [
    "main: cluster c-a fact jumphostSkipDomains: the exclusion example.net takes c-b.example.net from " +
    "main: cluster c-b fact openshiftBaseDomain",
  ]);
});

Deno.test("updateCatalogues() reports conflicts with a catalogue that it does not fetch", async () => {
  const two = `catalogues:\n  - { lieutenant: "${lieutenant}", name: one }\n` +
    `  - { lieutenant: "${lieutenant}/", name: two }\n`;
  await using update = worldWith(two);
  assert.deepEqual((await update.update({ name: "one" })).notes, []);
  update.lieutenant.clusters = [
    { ...cluster("c-x", "jump1"), facts: { jumphost: "jump1", jumphostSkipDomains: "example.net" } },
  ];
  const { notes } = await update.update({ name: "two" });
  assert.equal(notes.length, 1);
  assert.match(
    notes[0] ?? "",
    /^two: cluster c-x fact jumphostSkipDomains: the exclusion example\.net takes /,
  );
});

const inventory = JSON.stringify({ version: 1, clusters: [cluster("c-k", "jump9")] });

Deno.test("importKharon() imports kharon's catalogue, until postern has fetched one", async () => {
  await using update = worldWith();
  await assert.rejects(update.importKharon(), /contains no files of kharon/);
  update.signIn.memory.files.put("//io.vshn.kharon/inventory.json", inventory);
  const { routes, source } = only(await update.importKharon());
  assert.deepEqual(routes.map(({ pattern, jumphost }) => [pattern, jumphost]), [[
    "c-k.example.net",
    "jump9",
  ]]);
  assert.equal(source, "//io.vshn.kharon/inventory.json");
  only(await update.importKharon());
  const [untouched] = (await update.importKharon({ ifOlderThan: 10 ** 13 })).catalogues;
  assert.ok(untouched && "isFresh" in untouched);
  assert.deepEqual(only(await update.update()).changes.clusters, { added: ["c-a", "c-b"], removed: ["c-k"] });
  await assert.rejects(update.importKharon(), /postern has already stored "main" \(0s ago\)/);
});

Deno.test("importKharon() refuses to import if the configuration has no catalogues", async () => {
  await using update = worldWith("catalogues: []\n");
  update.signIn.memory.files.put("//io.vshn.kharon/inventory.json", inventory);
  await assert.rejects(update.importKharon(), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(
      error.message,
      /^Cannot import the catalogue: the configuration has an empty list of catalogues$/,
    );
    return true;
  });
});
