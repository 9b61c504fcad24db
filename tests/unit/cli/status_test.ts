import assert from "node:assert/strict";
import { runCommandLine } from "../../../src/cli/command_line.ts";
import { commandGroups } from "../../../src/cli/all_commands.ts";
import { startDoor } from "../../support/memory_door.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { jsonAnswer, WebServer } from "../../support/web_server.ts";

const context = { groups: commandGroups, version: "1.2.3", writeLogLine: () => {} };

/** A world in which a newer postern runs a door, before which nothing is known of others. */
function withNewerDoor() {
  const world = new MemoryWorld({
    files: { "/c.yaml": "listen: { mixed: 127.0.0.1:7 }\n", "/run/me": "", "/run/me/later.lock": "" },
  });
  let said = "";
  Object.assign(world.terminal, { err: (text: string) => Promise.resolve(void (said += text)) });
  const hello = jsonAnswer({ version: "9.0.0", id: "later", pid: 1, protocol: 2 });
  const server = new WebServer(world.network.listen({ path: "/run/me/later.sock" }), () => hello);
  return { world, server, said: () => said };
}

Deno.test("status shows the others when one door is of a newer postern", async () => {
  const { world, server, said } = withNewerDoor();
  await using _server = server;
  world.files.put("/run/me/work.lock", "");
  const door = await startDoor(world, { id: "work", config: "/c.yaml" });
  assert.equal(await runCommandLine(["status", "-o", "json"], world, context), 0);
  assert.deepEqual(JSON.parse(world.out).map(({ id }: { id: string }) => id), ["work"]);
  assert.match(said(), /^postern: the door "later" does not answer: .* newer postern \(9\.0\.0\)\n$/);
  world.kill("SIGTERM");
  await door.ended;
});

Deno.test("status fails when the only door there is cannot be asked", async () => {
  const { world, server, said } = withNewerDoor();
  await using _server = server;
  assert.equal(await runCommandLine(["status"], world, context), 6);
  assert.match(said(), /no door answers/);
  assert.equal(await runCommandLine(["status", "--id", "later"], world, context), 1);
});
