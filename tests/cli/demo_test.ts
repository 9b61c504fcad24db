import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";

Deno.test("postern demo --once runs every step and exits 0", async () => {
  await using home = await Household.open();
  const { code, stdout, stderr } = await home.run(["demo", "--once"]);
  assert.equal(code, 0, stdout + stderr);
  const steps = stdout.split("\n").filter((line) => /^ *\d+\/\d+ /.test(line));
  assert.ok(steps.length > 5 && steps.every((line) => /^ *\d+\/\d+ +ok /.test(line)), stdout);
  assert.match(stdout, / ok +connect through an ssh host from the ssh configuration: signed in with a key; /);
  assert.match(stdout, / ok +connect to a Service through .*: web\.shop\.svc\.cluster\.local answered; /);
  assert.match(
    stdout,
    / ok +explain names .*: the Service shop\/web of demo: web-7d4b9c:8080/,
  );
  assert.match(stdout, / ok +update signs in and fetches the catalogue: 2 clusters; /);
  assert.match(
    stdout,
    / ok +the facts of a cluster add routes: .* goes through ssh: rule .*catalogue main: cluster c-demo01/,
  );
  assert.match(stdout, / ok +the routes outlast the catalogue server: /);
});

Deno.test("postern demo does not use the user's ssh files, agent and kubeconfig", async () => {
  await using home = await Household.open();
  // Reading these would fail, or sign in with other credentials.
  await Deno.mkdir(`${home.directory}/.ssh/config`, { recursive: true });
  await Deno.mkdir(`${home.directory}/.kube/config`, { recursive: true });
  const env = { SSH_AUTH_SOCK: `${home.directory}/no-agent` };
  const { code, stdout, stderr } = await home.run(["demo", "--once"], { env });
  assert.equal(code, 0, stdout + stderr);
  const left = [...Deno.readDirSync(`${home.directory}/.ssh`)].map(({ name }) => name);
  assert.deepEqual(left, ["config"]);
  // The demo stores neither its catalogue nor its tokens.
  for (const name of ["cache", "state", "config"]) {
    await assert.rejects(Deno.stat(`${home.directory}/${name}`), Deno.errors.NotFound);
  }
});

Deno.test("postern demo exits at the end without a terminal", async () => {
  await using home = await Household.open();
  const { code, stdout, stderr } = await home.run(["demo"]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /demo: all \d+ steps ok/);
});

Deno.test("postern demo keeps its instance running until an interrupt", async () => {
  await using home = await Household.open();
  await using demo = home.start(["demo", "--listen", "127.0.0.1:0"]);
  await demo.prints(/curl -x socks5h:\/\/127\.0\.0\.1:\d+ /);
  demo.kill("SIGINT");
  const { code, stderr } = await demo.ended;
  assert.ok(code === 0 || code === 130, `${code} ${stderr}`);
  assert.doesNotMatch(stderr, /postern: error/);
});
