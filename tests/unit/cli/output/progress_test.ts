import assert from "node:assert/strict";
import { Progress } from "../../../../src/cli/output/progress.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

function onTerminal(isErrorOutput: boolean, columns = 80) {
  const said: string[] = [];
  const err = (text: string) => Promise.resolve(void said.push(text));
  const terminal = { ...new MemoryWorld().terminal, isErrorOutput, columns, err };
  return { said, world: { terminal } };
}

Deno.test("Progress overwrites its line and clears it at the end", async () => {
  const { said, world } = onTerminal(true);
  {
    await using progress = new Progress(world);
    await progress.show("1 of 2");
    await progress.show("2 of 2");
  }
  assert.deepEqual(said, ["\r1 of 2\x1b[K", "\r2 of 2\x1b[K", "\r\x1b[K"]);
});

Deno.test("Progress cuts a line to the width of the terminal", async () => {
  const { said, world } = onTerminal(true, 20);
  await new Progress(world).show("x".repeat(50));
  assert.deepEqual(said, [`\r${"x".repeat(19)}\x1b[K`]);
});

Deno.test("Progress prints nothing when stderr is not a terminal", async () => {
  const { said, world } = onTerminal(false);
  await using progress = new Progress(world);
  await progress.show("1 of 2");
  await progress.clear();
  assert.deepEqual(said, []);
});
