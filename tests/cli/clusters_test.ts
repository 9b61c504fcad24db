import assert from "node:assert/strict";
import { storeClusters } from "../support/lab_clusters.ts";
import { Household } from "../support/postern_process.ts";

Deno.test("postern clusters lists the stored clusters, with their age on stderr", async (t) => {
  await using home = await Household.open();
  await storeClusters(home, undefined, { fetched: new Date(Date.now() - 3 * 3600_000 - 5000).toISOString() });
  const listed = async (...args: string[]) => {
    const { code, stdout, stderr } = await home.run(["clusters", ...args]);
    assert.equal(code, 0, stderr);
    return { stdout, stderr, ids: stdout.split("\n").slice(1, -1).map((line) => line.split(" ")[0]) };
  };
  await t.step("as a table", async () => {
    const { stdout, stderr } = await listed();
    assert.equal(
      stdout,
      [
        "ID       DISPLAY NAME  JUMPHOST           CONSOLE URL",
        "c-lab-2  Lab Two       jump2.example.net  https://console.apps.c-lab-2.example.net",
        "c-lab-1  Lab One       -                  https://console.apps.c-lab-1.example.net",
        "c-talos  Talos         -                  -",
        "c-empty  Nothing yet   -                  -",
        "",
      ].join("\n"),
    );
    assert.equal(stderr, "postern: catalogue main: 4 clusters, fetched 3h ago\n");
  });
  await t.step("by patterns, selectors and exclusions", async () => {
    assert.deepEqual((await listed("lab")).ids, ["c-lab-2", "c-lab-1"]);
    assert.deepEqual((await listed("list", "lab", "talos")).ids, ["c-lab-2", "c-lab-1", "c-talos"]);
    assert.deepEqual((await listed("list", "shell", "talos")).ids, ["c-talos"]);
    assert.deepEqual((await listed("lab", "one")).ids, ["c-lab-2", "c-lab-1"]);
    assert.deepEqual((await listed("--selector", "cloud in (exoscale, metal)", "--exclude", "c-t*")).ids, [
      "c-lab-1",
    ]);
    const none = await listed("no-such-cluster");
    assert.equal(none.stdout, "");
    assert.match(none.stderr, /^postern: no cluster matches\n/);
  });
  await t.step("as JSON for jq", async () => {
    const { clusters, catalogues } = JSON.parse((await listed("-o", "json")).stdout);
    assert.deepEqual(clusters.map(({ id }: { id: string }) => id), [
      "c-lab-2",
      "c-lab-1",
      "c-talos",
      "c-empty",
    ]);
    assert.deepEqual(clusters[0], {
      name: "c-lab-2",
      id: "c-lab-2",
      displayName: "Lab Two",
      tenant: "t-lab",
      catalogue: "main",
      jumphost: "jump2.example.net",
      apiUrl: "https://api.c-lab-2.example.net:6443",
      consoleUrl: "https://console.apps.c-lab-2.example.net",
    });
    assert.equal(catalogues[0].source, "https://api.syn.example.net");
  });
  await t.step("as YAML", async () => {
    assert.match((await listed("-o", "yaml", "talos")).stdout, /^clusters:\n {2}- name: c-talos\n/m);
  });
  await t.step("an invalid selector is wrong usage", async () => {
    const { code, stderr } = await home.run(["clusters", "-l", "a b"]);
    assert.equal(code, 2);
    assert.match(stderr, /^postern: error: Cannot read the selector "a b"/);
  });
  await t.step("only the configured catalogues", async () => {
    await home.configure("catalogues: [{ lieutenant: https://api.syn.example.net, name: other }]\n");
    const { stdout, stderr } = await home.run(["clusters"]);
    assert.equal(stdout, "");
    assert.match(stderr, /^postern: note: catalogue other has not been fetched yet: postern update\n/);
  });
});

Deno.test("postern clusters without a catalogue fails with a hint", async () => {
  await using home = await Household.open();
  const { code, stdout, stderr } = await home.run(["clusters"]);
  assert.deepEqual([code, stdout], [4, ""]);
  assert.match(stderr, /no catalogue is stored\npostern: hint: fetch the catalogue: postern update\n$/);
});

Deno.test("postern clusters reads kharon's clusters if no catalogue is stored", async () => {
  await using home = await Household.open();
  const directory = `${home.places.cache.replace(/[^/]*$/, "")}io.vshn.kharon`;
  await Deno.mkdir(directory, { recursive: true });
  const clusters = [{ id: "c-old", displayName: "Old", facts: {}, dynamicFacts: {} }];
  await Deno.writeTextFile(`${directory}/inventory.json`, JSON.stringify({ version: 1, clusters }));
  const { code, stdout, stderr } = await home.run(["clusters", "-o", "json"]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout).clusters.map(({ id }: { id: string }) => id), ["c-old"]);
  assert.match(stderr, /^postern: note: no catalogue is stored; using kharon's: ".*inventory\.json"\n/);
});
