import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { serveForward } from "../../../src/listeners/mod.ts";
import { bytesOf, readExactly, serveClient } from "../../support/fake_dial.ts";
import { readAll } from "../../support/memory_conn.ts";

const target = { host: "db.example", port: 5432 };

Deno.test("serveForward() connects before the client sends, and relays a target that sends first", async () => {
  const { client, served, dials, clock } = serveClient(serveForward(target));
  const dial = await dials.nth(0);
  assert.deepEqual(dial.request, { target, client: "memory:b", protocol: "forward" });
  await dial.target.write(bytesOf("hello"));
  assert.deepEqual(await readExactly(client, 5), bytesOf("hello"));
  await client.write(bytesOf("query"));
  await client.closeWrite();
  assert.deepEqual(await readAll(dial.target), bytesOf("query"));
  await dial.target.write(bytesOf("answer"));
  await dial.target.closeWrite();
  assert.deepEqual(await readAll(client), bytesOf("answer"));
  await served;
  assert.equal(dial.outcome, "done");
  assert.deepEqual(dial.tally, { up: 5, down: 11 });
  assert.equal(clock.waiting, 0);
});

Deno.test("serveForward() resets a client whose target cannot be reached", async () => {
  const { client, served, dials } = serveClient(serveForward(target), {
    dial: () => Promise.reject(new PosternError("refused", "Cannot connect to db.example:5432")),
  });
  await assert.rejects(readAll(client));
  await served;
  assert.deepEqual(dials.made, []);
});
