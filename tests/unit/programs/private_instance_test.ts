import assert from "node:assert/strict";
import { PrivateInstance } from "../../../src/programs/mod.ts";
import { silentLog } from "../../../src/core/mod.ts";
import { startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const options = { version: "1", log: silentLog };

Deno.test("PrivateInstance is not listed among instances and leaves no files", async () => {
  const world = new MemoryWorld();
  {
    await using instance = await PrivateInstance.open(world, {
      ...options,
      config: "listen: { mixed: 127.0.0.1:1 }",
    });
    assert.equal(instance.address, "127.0.0.1:1");
    assert.match(instance.token, /^[0-9a-f]{48}$/);
    assert.equal(world.listening, 0);
    assert.deepEqual(await world.files.list("/run/me"), []);
    const { changes } = await instance.reload("listen: { mixed: 127.0.0.1:1 }\ndefault: reject");
    assert.deepEqual(changes, ["everything else now goes to reject (was direct)"]);
  }
  assert.equal(world.clock.waiting, 0);
  world.network.listen({ host: "127.0.0.1", port: 1 }).close();
});

Deno.test("PrivateInstance leaves DNS and admin to the instance that runs with the same file", async () => {
  const text = "listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:2, admin: 127.0.0.1:3 }\n";
  const world = new MemoryWorld({ files: { "/c.yaml": text } });
  const running = await startInstance(world, { config: "/c.yaml" });
  {
    const config = { config: "/c.yaml", overrides: { listen: ["127.0.0.1:0"] } };
    await using instance = await PrivateInstance.open(world, { ...options, config });
    assert.deepEqual(instance.instance.status().listeners.map(({ kind }) => kind), ["mixed"]);
  }
  world.kill("SIGTERM");
  await running.ended;
});

Deno.test("PrivateInstance.open() releases everything when an address is in use", async () => {
  const world = new MemoryWorld();
  world.network.listen({ host: "127.0.0.1", port: 2 });
  const config = "listen: { mixed: [127.0.0.1:1, 127.0.0.1:2] }";
  await assert.rejects(PrivateInstance.open(world, { ...options, config }), { code: "config" });
  world.network.listen({ host: "127.0.0.1", port: 1 }).close();
  assert.equal(world.clock.waiting, 0);
});
