import assert from "node:assert/strict";

const isWindows = Deno.build.os === "windows";
const main = new URL("../../../scripts/process_group.ts", import.meta.url).href;

/** Says that it is there, and stays, as does the program that it starts, which holds the same output. */
const stubborn = `
  const stay = "console.log('here'); setInterval(() => {}, 1000)";
  new Deno.Command(Deno.execPath(), { args: ["eval", stay] }).spawn();
  setInterval(() => {}, 1000);
`;

/** Runs the stubborn program in a group, from a program that may do everything; what it answers. */
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

// That it answers at all shows it: the output ends with the last program that holds it.
Deno.test("runAsGroup() ends what a program has started, when it takes too long", async () => {
  if (!isWindows) assert.deepEqual(await runStubborn(2, ""), { code: 137, stopped: "late" });
});

Deno.test("runAsGroup() ends what a program has started, when it is told to end", async () => {
  if (isWindows) return;
  const end = await runStubborn(600, 'Deno.kill(Deno.pid, "SIGTERM");');
  assert.deepEqual(end, { code: 137, stopped: "interrupted" });
});
