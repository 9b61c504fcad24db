import assert from "node:assert/strict";
import { serviceLog } from "../../../src/service/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const plist = "/home/me/Library/LaunchAgents/local.postern.proxy.plist";

Deno.test("serviceLog() is the log file of our launchd agent", async () => {
  const world = new MemoryWorld({ files: { [plist]: "<!-- Written by postern service-install -->" } });
  Object.assign(world, { places: { ...world.places, home: "/home/me" } });
  Object.assign(world.process, { platform: "darwin" });
  assert.deepEqual(await serviceLog(world, { isFollowed: true }), {
    path: "/home/me/Library/Logs/local.postern.proxy.log",
  });
  await world.files.remove(plist);
  assert.equal(await serviceLog(world, { isFollowed: false }), undefined);
});

Deno.test("serviceLog() is undefined on Windows, which has no service", async () => {
  const world = new MemoryWorld();
  Object.assign(world.process, { platform: "windows" });
  assert.equal(await serviceLog(world, { isFollowed: false }), undefined);
});
