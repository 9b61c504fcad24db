import assert from "node:assert/strict";
import { signInToCatalogues, signOutOfCatalogues } from "../../../src/app/mod.ts";
import { UpdateWorld } from "../../support/update_world.ts";

const { signal } = new AbortController();
const config = 'catalogues: [{ lieutenant: "http://127.0.0.1:8080" }]\n';

Deno.test("signInToCatalogues() has a person sign in, whatever is stored", async () => {
  await using update = new UpdateWorld({ files: { "/config/config.yaml": config } });
  const { log, parts: { say } } = update.signIn;
  const request = { log, signal, ...(say && { say }) };
  for (const count of [1, 2]) {
    const [one] = await signInToCatalogues(update.world, {}, request);
    assert.deepEqual([one?.catalogue, one?.name], ["main", "alice@example.com"]);
    assert.equal(update.signIn.opened.length, count);
  }
  await update.update();
  assert.equal(update.signIn.opened.length, 2);
});

Deno.test("signOutOfCatalogues() forgets every token for the API, and asks nobody", async () => {
  await using update = new UpdateWorld({ files: { "/config/config.yaml": config } });
  await update.update();
  const asked = update.signIn.server.asked;
  const left = async () =>
    (await update.world.files.list("/cache/tokens")).filter((name) => /json$/.test(name));
  update.signIn.memory.files.put("/cache/tokens/other.json", '{"apiUrl":"https://other.example"}');
  assert.equal((await left()).length, 2);
  assert.deepEqual(await signOutOfCatalogues(update.world, {}, {}), { signedOut: ["main"], others: [] });
  assert.deepEqual(await signOutOfCatalogues(update.world, {}, {}), { signedOut: [], others: ["main"] });
  assert.deepEqual(await left(), ["other.json"]);
  assert.equal(update.signIn.server.asked, asked);
});
