import assert from "node:assert/strict";
import { catalogueStore } from "../../../../src/plan/mod.ts";
import { connectInstance } from "../../../../src/instances/mod.ts";
import { readClusters } from "../../../../src/catalogue/read_clusters.ts";
import { startInstance } from "../../../support/memory_instance.ts";
import { eventually } from "../../../support/peer_program.ts";
import { passTime } from "../../../support/sign_in_world.ts";
import { UpdateWorld } from "../../../support/update_world.ts";

const { signal } = new AbortController();
const hour = 3_600_000;
const cluster = (id: string) => ({
  id,
  facts: { jumphost: "jump1" },
  dynamicFacts: { openshiftBaseDomain: `${id}.example.net` },
});

/** An instance whose catalogue was fetched at its start, with a signed-in user. */
async function worldWith(refresh: string): Promise<UpdateWorld> {
  const config = `listen: { mixed: 127.0.0.1:1 }\ncatalogues:\n` +
    `  - { lieutenant: "http://127.0.0.1:8080", refresh: ${refresh} }\n`;
  const update = new UpdateWorld({ files: { "/config/config.yaml": config, "/run/me/default.lock": "" } });
  update.signIn.server.lifetime = 10 * hour / 1000;
  update.lieutenant.clusters = [cluster("c-a")];
  await update.update();
  return update;
}

/** Advances the clock in small steps, so that pending work can settle. */
async function pass(update: UpdateWorld, ms: number): Promise<void> {
  const { clock } = update.signIn.memory;
  await passTime(clock, new Promise((resolve) => clock.after(ms, () => resolve(undefined))), ms / 4);
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * Waits for an effect of the time that has passed. Hashing and signing take real time, during which no
 * deadline may pass, so the clock advances by single milliseconds.
 */
async function until(update: UpdateWorld, isSo: () => boolean): Promise<void> {
  await eventually("the expected effect", async () => {
    if (isSo()) return true;
    await update.signIn.memory.clock.advance(1);
    return isSo();
  });
}

Deno.test("runInstance() refreshes a catalogue at its interval without asking the user", async () => {
  await using update = await worldWith("1h");
  const { memory, opened } = update.signIn;
  const instance = await startInstance(memory);
  update.lieutenant.clusters = [cluster("c-b")];
  const asked = () => update.lieutenant.tokens.length;
  await pass(update, hour / 2);
  assert.equal(asked(), 1);
  await pass(update, hour / 2 - 500);
  assert.equal(asked(), 1);
  await pass(update, 1000);
  const refreshed = () => instance.lines.filter(({ event }) => event === "catalogue.refreshed").length;
  await until(update, () => refreshed() === 1);
  assert.equal(asked(), 2);
  const client = await connectInstance(memory, "default", { signal });
  assert.match(
    (await client.explain({ host: "c-b.example.net", port: 443 }, { signal })).because,
    /cluster c-b/,
  );
  await pass(update, hour);
  await until(update, () => refreshed() === 2);
  assert.equal(asked(), 3);
  assert.equal(opened.length, 1, "only the initial sign-in");
  memory.kill("SIGTERM");
  await instance.ended;
  assert.equal(memory.clock.waiting, 0);
});

Deno.test("runInstance() keeps its catalogue if a refresh fails, and retries", async () => {
  await using update = await worldWith("1h");
  const { memory } = update.signIn;
  const instance = await startInstance(memory);
  update.lieutenant.answer = { status: 503, body: "{}" };
  const failures = () => instance.lines.filter(({ event }) => event === "catalogue.not_refreshed").length;
  await pass(update, hour - 500);
  await pass(update, 1000);
  await until(update, () => failures() === 1);
  for (let time = 2; time <= 3; time++) {
    await pass(update, hour / 4);
    await until(update, () => failures() === time);
  }
  const client = await connectInstance(memory, "default", { signal });
  assert.match(
    (await client.explain({ host: "c-a.example.net", port: 443 }, { signal })).because,
    /cluster c-a/,
  );
  update.lieutenant.answer = undefined;
  await pass(update, hour / 4);
  await until(update, () => instance.lines.some(({ event }) => event === "catalogue.refreshed"));
  memory.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() refreshes a catalogue after the clock was wrong for a while", async () => {
  await using update = await worldWith("1h");
  const { memory } = update.signIn;
  const instance = await startInstance(memory);
  const count = (wanted: string) => instance.lines.filter(({ event }) => event === wanted).length;
  update.lieutenant.answer = { status: 503, body: "{}" };
  memory.clock.jumpDate(720 * hour);
  await pass(update, hour / 4);
  await until(update, () => count("catalogue.not_refreshed") === 1);
  memory.clock.jumpDate(-720 * hour);
  update.lieutenant.answer = undefined;
  await pass(update, hour * 3 / 4 - 5000);
  await pass(update, 10_000);
  await until(update, () => count("catalogue.refreshed") === 1);
  memory.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() loads a catalogue that another process fetched without notifying it", async () => {
  await using update = await worldWith("1h");
  const { memory } = update.signIn;
  const instance = await startInstance(memory);
  await pass(update, hour / 2);
  const store = await catalogueStore(memory);
  const [stored] = (await store.read()).catalogues;
  assert.ok(stored);
  const { clusters } = readClusters([cluster("c-b")]);
  await store.put({ ...stored, fetched: memory.clock.date().toISOString(), clusters }, { signal });
  await pass(update, hour / 2 - 500);
  await pass(update, 1000);
  await until(update, () => instance.lines.some(({ event }) => event === "config.reloaded"));
  const client = await connectInstance(memory, "default", { signal });
  assert.match(
    (await client.explain({ host: "c-b.example.net", port: 443 }, { signal })).because,
    /cluster c-b/,
  );
  assert.equal(update.lieutenant.tokens.length, 1);
  memory.kill("SIGTERM");
  await instance.ended;
  assert.equal(memory.clock.waiting, 0);
});

const refusals: {
  readonly name: string;
  readonly cause: (update: UpdateWorld) => void;
  readonly says: RegExp;
}[] = [
  {
    name: "no longer returns clusters",
    cause: ({ lieutenant }) => void (lieutenant.clusters = []),
    says: /returns no clusters, but 1 are stored/,
  },
  {
    name: "rejects the token, so that only the user could sign in again",
    cause: ({ lieutenant, signIn: { server } }) => {
      lieutenant.refuses = () => true;
      server.refreshTokens.clear();
    },
    says: /the sign-in needs a user at a terminal/,
  },
];
for (const { name, cause, says } of refusals) {
  Deno.test(`runInstance() keeps its routes and opens no browser if the API ${name}`, async () => {
    await using update = await worldWith("1h");
    const { memory, opened } = update.signIn;
    const instance = await startInstance(memory);
    cause(update);
    await pass(update, hour - 500);
    await pass(update, 1000);
    const told = () => instance.lines.filter(({ event }) => event === "catalogue.not_refreshed");
    await until(update, () => told().length > 0);
    assert.match(JSON.stringify(told()), says);
    assert.equal(opened.length, 1, "only the initial sign-in");
    const client = await connectInstance(memory, "default", { signal });
    const { because } = await client.explain({ host: "c-a.example.net", port: 443 }, { signal });
    assert.match(because, /cluster c-a/);
    memory.kill("SIGTERM");
    await instance.ended;
  });
}

Deno.test("runInstance() fetches nothing without an interval", async () => {
  await using update = await worldWith("off");
  const { memory } = update.signIn;
  const instance = await startInstance(memory);
  await pass(update, 48 * hour);
  assert.equal(update.lieutenant.tokens.length, 1);
  memory.kill("SIGTERM");
  await instance.ended;
});
