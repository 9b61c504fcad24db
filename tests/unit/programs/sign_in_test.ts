import assert from "node:assert/strict";
import { signInToCatalogues, signOutOfCatalogues } from "../../../src/programs/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { UpdateWorld } from "../../support/update_world.ts";

const { signal } = new AbortController();
const config = 'catalogues: [{ lieutenant: "http://127.0.0.1:8080" }]\n';

Deno.test("signInToCatalogues() makes the user sign in even if a token is stored", async () => {
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

Deno.test("signOutOfCatalogues() removes every token for the API, here and at the provider", async () => {
  await using update = new UpdateWorld({ files: { "/config/config.yaml": config } });
  await update.update();
  const { log, server, memory } = update.signIn;
  const left = async () =>
    (await update.world.files.list("/cache/tokens")).filter((name) => /json$/.test(name));
  memory.files.put("/cache/tokens/other.json", '{"apiUrl":"https://other.example"}');
  assert.deepEqual([(await left()).length, server.refreshTokens.size], [2, 1]);
  const request = { log, signal };
  assert.deepEqual(await signOutOfCatalogues(update.world, {}, request), { signedOut: ["main"], others: [] });
  assert.deepEqual(await signOutOfCatalogues(update.world, {}, request), { signedOut: [], others: ["main"] });
  assert.deepEqual([await left(), server.refreshTokens.size], [["other.json"], 0]);
});

Deno.test("signOutOfCatalogues() needs neither the API nor the provider", async () => {
  await using update = new UpdateWorld({ files: { "/config/config.yaml": config } });
  await update.update();
  const { log, memory } = update.signIn;
  memory.network.faults.set("127.0.0.1", new PosternError("unreachable", "Cannot reach 127.0.0.1"));
  const request = { log, signal };
  assert.deepEqual((await signOutOfCatalogues(update.world, {}, request)).signedOut, ["main"]);
  assert.equal(log.lines.at(-1)?.event, "sign_in.not_revoked");
});

Deno.test("signInToCatalogues() adds a hint if the connection is refused", async () => {
  await using update = new UpdateWorld({ files: { "/config/config.yaml": config } });
  const { log, memory } = update.signIn;
  memory.network.faults.set("127.0.0.1", new PosternError("refused", "Cannot reach 127.0.0.1:8080: refused"));
  const hint = 'check the URL of the catalogue "main", and set via if it needs a transport';
  const told = { code: "refused", message: "Cannot reach 127.0.0.1:8080: refused", hint };
  await assert.rejects(signInToCatalogues(update.world, {}, { log, signal }), told);
});
