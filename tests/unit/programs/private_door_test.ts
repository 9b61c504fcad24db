import assert from "node:assert/strict";
import { PrivateDoor } from "../../../src/programs/mod.ts";
import { silentLog } from "../../../src/core/mod.ts";
import { startDoor } from "../../support/memory_door.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const options = { version: "1", log: silentLog };

Deno.test("PrivateDoor takes no place among instances and ends without a trace", async () => {
  const world = new MemoryWorld();
  {
    await using door = await PrivateDoor.open(world, {
      ...options,
      config: "listen: { mixed: 127.0.0.1:1 }",
    });
    assert.equal(door.address, "127.0.0.1:1");
    assert.match(door.token, /^[0-9a-f]{48}$/);
    assert.equal(world.listening, 0);
    assert.deepEqual(await world.files.list("/run/me"), []);
    const { changes } = await door.reload("listen: { mixed: 127.0.0.1:1 }\ndefault: reject");
    assert.deepEqual(changes, ["everything else now goes to reject (was direct)"]);
  }
  assert.equal(world.clock.waiting, 0);
  world.network.listen({ host: "127.0.0.1", port: 1 }).close();
});

Deno.test("PrivateDoor leaves DNS and admin to the door that runs by the same file", async () => {
  const text = "listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:2, admin: 127.0.0.1:3 }\n";
  const world = new MemoryWorld({ files: { "/c.yaml": text } });
  const running = await startDoor(world, { config: "/c.yaml" });
  {
    const config = { config: "/c.yaml", overrides: { listen: ["127.0.0.1:0"] } };
    await using door = await PrivateDoor.open(world, { ...options, config });
    assert.deepEqual(door.door.status().listeners.map(({ kind }) => kind), ["mixed"]);
  }
  world.kill("SIGTERM");
  await running.ended;
});

Deno.test("PrivateDoor.open() gives everything back when an address is taken", async () => {
  const world = new MemoryWorld();
  world.network.listen({ host: "127.0.0.1", port: 2 });
  const config = "listen: { mixed: [127.0.0.1:1, 127.0.0.1:2] }";
  await assert.rejects(PrivateDoor.open(world, { ...options, config }), { code: "config" });
  world.network.listen({ host: "127.0.0.1", port: 1 }).close();
  assert.equal(world.clock.waiting, 0);
});
