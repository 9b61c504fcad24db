import assert from "node:assert/strict";

const isWindows = Deno.build.os === "windows";
const main = new URL("../../../scripts/process_group.ts", import.meta.url).href;

/** A program that prints a line and keeps running, like its child, which holds the same output. */
const stubborn = `
  const stay = "console.log('here'); setInterval(() => {}, 1000)";
  new Deno.Command(Deno.execPath(), { args: ["eval", stay] }).spawn();
  setInterval(() => {}, 1000);
`;

/** Runs the stubborn program in a group from a program with all permissions; returns its output. */
async function runStubborn(limit: number, heard: string): Promise<unknown> {
  const program = `
    const { runAsGroup } = await import(${JSON.stringify(main)});
    const passOn = async (output) => {
      for await (const _ of output) { ${heard} }
    };
    const args = ["eval", ${JSON.stringify(stubborn)}];
    console.log(JSON.stringify(await runAsGroup(Deno.execPath(), { args }, { limit: ${limit}, passOn })));
  `;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", program] }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

// An answer proves that all programs ended: the output ends with the last program that holds it.
Deno.test("runAsGroup() kills a program and its children at the time limit", async () => {
  if (!isWindows) assert.deepEqual(await runStubborn(2, ""), { code: 137, stopped: "late" });
});

Deno.test("runAsGroup() kills a program and its children on a signal", async () => {
  if (isWindows) return;
  const end = await runStubborn(600, 'Deno.kill(Deno.pid, "SIGTERM");');
  assert.deepEqual(end, { code: 137, stopped: "interrupted" });
});
