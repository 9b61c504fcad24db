import assert from "node:assert/strict";
import { commandGroups } from "../../../../src/cli/line/all_commands.ts";
import { runCommandLine } from "../../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../../src/permissions/mod.ts";
import type { SignalName } from "../../../../src/world/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const context = { groups: commandGroups, version: "1.2.3", writeLogLine: () => {} };

const interruptions: readonly {
  readonly args: readonly string[];
  readonly signal: SignalName;
  readonly code: number;
}[] = [
  { args: ["proxy", "--background"], signal: "SIGINT", code: 130 },
  { args: ["proxy", "--background"], signal: "SIGTERM", code: 143 },
  { args: ["proxy", "--background", "--kubernetes", "--kubeconfig", "-"], signal: "SIGINT", code: 130 },
  { args: ["connect", "--socks"], signal: "SIGINT", code: 130 },
];

for (const { args, signal, code } of interruptions) {
  Deno.test(`postern ${args.join(" ")} leaves no instance when ${signal} arrives before it is ready`, async () => {
    const world = new MemoryWorld();
    const begun = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<number>();
    world.process.background = (_command, { signal }) => {
      signal.addEventListener("abort", () => ending.resolve(143));
      begun.resolve();
      return Promise.resolve({ pid: 4712, ended: ending.promise, release: () => {} });
    };
    const running = runCommandLine(readCommandLine(args), world, context);
    await begun.promise;
    await settle();
    assert.ok(world.listening > 0, "the command does not listen for the signal");
    world.kill(signal);
    assert.equal(await running, code);
    assert.equal(await ending.promise, 143);
    assert.equal(world.listening, 0);
    assert.deepEqual(await world.files.list("/run/me/kubeconfigs").catch(() => []), []);
  });
}
