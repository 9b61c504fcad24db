import assert from "node:assert/strict";
import { freeHead, HeadRoom, headRoom } from "../../../../src/listeners/http/head_room.ts";
import { serveMixed } from "../../../../src/listeners/mod.ts";
import { Http1Problem } from "../../../../src/wire/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { bytesOf, serveClient } from "../../../support/fake_dial.ts";

Deno.test("HeadRoom.share() takes what is over 64 KiB, refuses more than the room, and returns it", () => {
  const room = new HeadRoom(1000);
  const incomplete = () => undefined;
  const one = room.share(incomplete, { limit: 0, status: 503 });
  one.decode(new Uint8Array(freeHead));
  assert.equal(room.used, 0);
  one.decode(new Uint8Array(freeHead + 600));
  one.decode(new Uint8Array(freeHead + 700));
  assert.equal(room.used, 700);
  {
    using two = room.share(incomplete, { limit: 0, status: 502 });
    two.decode(new Uint8Array(freeHead + 300));
    assert.throws(
      () => two.decode(new Uint8Array(freeHead + 301)),
      (error) => error instanceof Http1Problem && error.status === 502,
    );
    assert.equal(room.used, 1000);
  }
  assert.equal(room.used, 700);
  one[Symbol.dispose]();
  assert.equal(room.used, 0);
});

Deno.test("HeadRoom.share() takes nothing for a complete head", () => {
  const room = new HeadRoom(10);
  using share = room.share((bytes) => ({ value: 1, used: bytes.length }), { limit: 0, status: 503 });
  assert.equal(share.decode(new Uint8Array(freeHead * 2))?.value, 1);
  assert.equal(room.used, 0);
});

Deno.test("serveMixed() bounds the memory of many slow heads, and needs none after them", async () => {
  const head = bytesOf(`GET http://a/ HTTP/1.1\r\n${`X: ${"x".repeat(50_000)}\r\n`.repeat(5)}`);
  const worlds = Array.from({ length: 250 }, () => serveClient(serveMixed, { capacity: 300_000 }));
  for (const { client } of worlds) await client.write(head);
  for (let turn = 0; turn < 20; turn++) await settle();
  const used = headRoom.used;
  assert.ok(used > 20_000_000 && used <= 32 * 1024 * 1024, `${used} bytes`);
  const answers: string[] = [];
  for (const { client, served } of worlds) {
    const into = new Uint8Array(200);
    const reading = client.read(into).catch(() => null);
    await settle();
    answers.push(new TextDecoder().decode(into));
    client.abort();
    await reading;
    await served;
  }
  const refused = answers.filter((text) =>
    text.startsWith(
      "HTTP/1.1 503 cannot buffer another large head: incomplete heads already use 32 MiB",
    )
  );
  assert.ok(refused.length > 20, `${refused.length} refused`);
  assert.equal(headRoom.used, 0);
});
