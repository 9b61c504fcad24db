import assert from "node:assert/strict";
import { connectInstance } from "../../../src/instances/mod.ts";
import type { Conn } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { readAll } from "../../support/memory_conn.ts";
import { startInstance, take } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const target = { host: "192.0.2.1", port: 80 };
const { signal } = new AbortController();
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

function worldWith(config = "listen: { mixed: 127.0.0.1:1 }\ndefault: direct\n"): MemoryWorld {
  return new MemoryWorld({ files: { "/config/config.yaml": config } });
}

/** Opens a stream; fails if the instance refuses. */
async function streamTo(world: MemoryWorld, to = target): Promise<Conn> {
  const client = await connectInstance(world, "default", { signal });
  const stream = await client.stream(to, { signal });
  if (stream instanceof PosternError) throw stream;
  return stream;
}

async function stopped(world: MemoryWorld, ended: Promise<void>): Promise<void> {
  world.kill("SIGTERM");
  world.kill("SIGINT");
  await ended;
}

Deno.test("ControlClient.stream() keeps half-closes, and shows in `connections` as nc", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  const accepted = world.network.listen(target).accept();
  const stream = await streamTo(world);
  const far = await accepted ?? assert.fail("closed");
  await stream.write(bytes("question"));
  await stream.closeWrite();
  assert.equal(text(await readAll(far)), "question");
  const client = await connectInstance(world, "default", { signal });
  const [info] = await client.connections({ signal });
  assert.deepEqual([info?.protocol, info?.target, info?.transport], ["nc", "192.0.2.1:80", "direct"]);
  await far.write(bytes("answer"));
  await far.closeWrite();
  assert.equal(text(await readAll(stream)), "answer");
  await stream[Symbol.asyncDispose]();
  await stopped(world, instance.ended);
  assert.equal(world.clock.waiting, 0);
});

Deno.test("ControlClient.stream() keeps sending after the target's end", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  const accepted = world.network.listen(target).accept();
  const stream = await streamTo(world);
  const far = await accepted ?? assert.fail("closed");
  await far.closeWrite();
  assert.equal(await stream.read(new Uint8Array(1)), null);
  await stream.write(bytes("upload"));
  await stream.closeWrite();
  assert.equal(text(await readAll(far)), "upload");
  await stopped(world, instance.ended);
});

Deno.test("ControlClient.stream() returns the instance's sentence about a target", async () => {
  const world = worldWith("listen: { mixed: 127.0.0.1:1 }\nroutes: [{ to: 192.0.2.9, via: reject }]\n");
  const instance = await startInstance(world);
  await assert.rejects(streamTo(world), { code: "refused", message: /^Cannot reach 192\.0\.2\.1:80: / });
  await assert.rejects(streamTo(world, { host: "192.0.2.9", port: 80 }), { code: "not_allowed" });
  await stopped(world, instance.ended);
});

Deno.test("ControlClient.stream() tells why the target failed, after its last byte", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  const accepted = world.network.listen(target).accept();
  const stream = await streamTo(world);
  const far = await accepted ?? assert.fail("closed");
  await far.write(bytes("half"));
  assert.equal(text(await take(stream, 4)), "half");
  const client = await connectInstance(world, "default", { signal });
  const [info] = await client.connections({ signal });
  await client.closeConnection(info?.id ?? assert.fail(), { signal });
  await assert.rejects(readAll(stream), { code: "cancelled", message: "Closed on request" });
  await stream[Symbol.asyncDispose]();
  await stopped(world, instance.ended);
});

Deno.test("ControlClient.stream() fails if the instance dies without a last chunk", async () => {
  const world = worldWith();
  const listening = world.network.listen({ path: "/run/me/default.sock" });
  const serving = (async () => {
    const hello = await listening.accept() ?? assert.fail("closed");
    const answer = '{"version":"1","id":"default","pid":1,"protocol":1}';
    await hello.write(bytes(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`));
    const conn = await listening.accept() ?? assert.fail("closed");
    await conn.write(bytes("HTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n"));
    await conn.closeWrite();
  })();
  const stream = await streamTo(world);
  await serving;
  assert.equal(text(await take(stream, 3)), "abc");
  await assert.rejects(readAll(stream), { code: "unreachable", message: /the connection ended early/ });
  listening.close();
});

Deno.test("an instance with `only` and a password serves its own user's streams", async () => {
  const world = worldWith(
    "listen: { mixed: { address: 127.0.0.1:1, only: [db.example.net] }, " +
      "auth: { users: [{ name: me, passwordFile: /config/password }] } }\n",
  );
  await world.files.replace("/config/password", "pw12345678");
  const instance = await startInstance(world);
  const accepted = world.network.listen(target).accept();
  const stream = await streamTo(world);
  const far = await accepted ?? assert.fail("closed");
  await stream.write(bytes("in"));
  assert.equal(text(await take(far, 2)), "in");
  await stream[Symbol.asyncDispose]();
  await stopped(world, instance.ended);
});

Deno.test("a draining instance waits for its streams, and refuses new ones", async () => {
  const world = worldWith();
  const instance = await startInstance(world);
  const accepted = world.network.listen(target).accept();
  const stream = await streamTo(world);
  const far = await accepted ?? assert.fail("closed");
  const client = await connectInstance(world, "default", { signal });
  await client.stop({ signal });
  await settle();
  assert.equal(instance.hasEnded(), false);
  await assert.rejects(streamTo(world), { code: "unreachable", message: /instance "default" is stopping$/ });
  await far.write(bytes("late"));
  assert.equal(text(await take(stream, 4)), "late");
  await far.closeWrite();
  await stream.closeWrite();
  assert.equal(await stream.read(new Uint8Array(1)), null);
  await instance.ended;
});
