import assert from "node:assert/strict";
import { grantedProcess } from "../../../../src/app/programs/granted_process.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

Deno.test("grantedProcess() is the process itself where programs may be started", () => {
  const { process } = new MemoryWorld();
  assert.equal(grantedProcess(process), process);
});

Deno.test("grantedProcess() starts nothing where that right was given up, and says what helps", async () => {
  const { process } = new MemoryWorld({ env: { NAME: "value" } });
  const granted = grantedProcess({ ...process, mayRun: () => false });
  const { signal } = new AbortController();
  for (const start of [granted.run, granted.pipe]) {
    await assert.rejects(start(["/bin/sh", "-c", "true"], { signal }), {
      code: "not_allowed",
      message: /^Cannot start "\/bin\/sh": this door began without an ssh host/,
      hint: "restart the door",
    });
  }
  assert.equal(granted.env("NAME"), "value");
});
