import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";

Deno.test("postern demo --once tries every step and exits 0", async () => {
  await using home = await Household.open();
  const { code, stdout, stderr } = await home.run(["demo", "--once"]);
  assert.equal(code, 0, stdout + stderr);
  const steps = stdout.split("\n").filter((line) => /^ *\d+\/\d+ /.test(line));
  assert.ok(steps.length > 5 && steps.every((line) => /^ *\d+\/\d+ +ok /.test(line)), stdout);
});

Deno.test("postern demo does not stay where nobody could end it", async () => {
  await using home = await Household.open();
  const { code, stdout, stderr } = await home.run(["demo"]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /demo: all \d+ steps ok/);
});

Deno.test("postern demo leaves the door open, and ends when it is interrupted", async () => {
  await using home = await Household.open();
  await using demo = home.start(["demo", "--listen", "127.0.0.1:0"]);
  await demo.prints(/curl -x socks5h:\/\/127\.0\.0\.1:\d+ /);
  demo.kill("SIGINT");
  const { code, stderr } = await demo.ended;
  assert.ok(code === 0 || code === 130, `${code} ${stderr}`);
  assert.doesNotMatch(stderr, /postern: error/);
});
