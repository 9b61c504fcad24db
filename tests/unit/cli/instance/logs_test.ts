import assert from "node:assert/strict";
import { commandGroups } from "../../../../src/cli/line/all_commands.ts";
import { runCommandLine } from "../../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../../src/permissions/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const context = { groups: commandGroups, version: "1.2.3", writeLogLine: () => {} };
const path = "/state/logs/default.log";

Deno.test("postern logs --follow continues with a new log after the old one was removed", async () => {
  const world = new MemoryWorld({ files: { [path]: "one\n" } });
  const printed = Promise.withResolvers<void>();
  world.terminal.out = (text) => {
    world.out += text;
    printed.resolve();
    return Promise.resolve();
  };
  const running = runCommandLine(readCommandLine(["logs", "--follow"]), world, context);
  await printed.promise;
  await settle();
  await world.files.remove(path);
  await world.clock.advance(1000);
  world.files.put(path, "two\n");
  await world.clock.advance(1000);
  world.kill("SIGINT");
  assert.equal(await running, 130);
  assert.equal(world.out, "one\ntwo\n");
});
