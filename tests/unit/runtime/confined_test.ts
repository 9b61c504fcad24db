import assert from "node:assert/strict";
import { runPeer } from "../../support/peer_program.ts";

/**
 * Runs a program and returns its output and exit code; `inside` runs in the worker, which may write only
 * below /own.
 */
async function run(inside: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const module = new URL("../../../src/runtime/confined.ts", import.meta.url).href;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    file,
    `import { exit, isConfined, runConfined } from "${module}";
    const has = (of) => Deno.permissions.querySync(of).state === "granted";
    if (isConfined) { ${inside} }
    else {
      const ended = runConfined(import.meta.url, { net: true, read: true, write: ["/own"], env: false, run: false, sys: false });
      console.log("outside", ["net", "read", "write", "env", "run", "sys"].filter((name) => has({ name })).join());
      exit(await ended);
    }`,
  );
  const flags = ["--allow-net", "--allow-read", "--allow-write", "--allow-env", "--allow-run"];
  const args = ["run", "--quiet", "--no-check", "--no-prompt", "--no-config", "--unstable-worker-options"];
  const ended = await runPeer(Deno.execPath(), [...args, ...flags, file]);
  await Deno.remove(file);
  return ended;
}

Deno.test("runConfined() keeps read permission outside the worker, and only the given permissions inside", async () => {
  const { code, stdout, stderr } = await run(`
    console.log("inside", has({ name: "write" }), has({ name: "write", path: "/own/a" }), has({ name: "run" }));
    exit(7);`);
  assert.equal(code, 7, stderr);
  // The order of the two depends on the scheduler.
  assert.deepEqual(stdout.trim().split("\n").sort(), ["inside false true false", "outside read"]);
});

Deno.test("runConfined() prevents the worker from starting one with more permissions", async () => {
  const { stdout } = await run(`
    try { new Worker(import.meta.url, { type: "module", deno: { permissions: { write: true } } }); }
    catch (error) { console.log(error.name, error.message); }
    exit(0);`);
  assert.match(stdout, /NotCapable|escalate/);
});

for (
  const { name, inside } of [
    { name: "fails", inside: `throw new Error("broken");` },
    { name: "ends with an invalid code", inside: `postMessage("9");` },
  ]
) {
  Deno.test(`runConfined() returns 1 when the worker ${name}`, async () => {
    assert.equal((await run(inside)).code, 1);
  });
}

Deno.test("a worker that closes itself ends the program", async () => {
  assert.equal((await run("self.close();")).code, 1);
});
