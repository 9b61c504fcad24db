import assert from "node:assert/strict";
import { withOwner } from "../../../src/app/port_owner.ts";
import { PosternError } from "../../../src/core/mod.ts";
import { startDoor } from "../../support/memory_door.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

Deno.test("withOwner() leaves a failure alone that has no owner among our doors", async () => {
  const world = new MemoryWorld({ files: { "/run/me": "" } });
  const others = [
    new Error("anything"),
    new PosternError("config", "Cannot listen on 127.0.0.1:1: the system does not allow it"),
    new PosternError("config", "Cannot listen on 127.0.0.1:1: the address is in use", { detail: "in_use" }),
  ];
  for (const error of others) assert.equal(await withOwner(world, error), error);
});

Deno.test("withOwner() names the door that has the address, though another one hangs", async () => {
  const files = { "/c.yaml": "listen: { mixed: 127.0.0.1:7 }\n", "/run/me": "", "/run/me/work.lock": "" };
  const world = new MemoryWorld({ files: { ...files, "/run/me/hung.lock": "", "/run/me/hung.sock": "" } });
  world.network.faults.set("/run/me/hung.sock", "silent");
  const door = await startDoor(world, { id: "work", config: "/c.yaml" });
  const error = new PosternError("config", "Cannot listen on 127.0.0.1:7: the address is in use", {
    detail: "in_use",
  });
  const owned = withOwner(world, error);
  await world.clock.advance(5000);
  assert.match(String((await owned as PosternError).hint), /^the door "work" \(pid 4711\) has it/);
  world.kill("SIGTERM");
  await door.ended;
});
