import assert from "node:assert/strict";
import { farSide } from "../support/far_side.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { type AtTerminal, atTerminal, type TerminalSession } from "../support/pseudo_terminal.ts";
import { RawClient, throughSocks5 } from "../support/raw_client.ts";
import { echoServer, type TargetServer } from "../support/target_server.ts";

const usual = { echo: true, lines: true };
const raw = { echo: false, lines: false };
// deno-lint-ignore no-control-regex
const controls = /\x1b\[[0-9;?]*[A-Za-z]/g;

/** An instance with a broken and a working transport, and live connections through the working one. */
async function busyInstance(): Promise<
  { home: Household; instance: Instance; client: RawClient } & AsyncDisposable
> {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await Household.open());
  const target: TargetServer = opened.use(echoServer());
  const far = opened.use(
    farSide({ "db.lab.example:5432": target.address, "web.lab.example:80": target.address }),
  );
  await home.configure(`
listen: { limits: { drain: 1s } }
transports: { lab: { proxy: { url: "socks5h://${far.address}" } }, corp: { proxy: { url: "http://127.0.0.1:1" } } }
routes: [{ to: lab.example, via: lab }, { to: corp.example, via: corp }]
`);
  const instance = await home.instance();
  const address = await instance.address();
  const client = opened.use(await throughSocks5(address, { host: "db.lab.example", port: 5432 }));
  opened.use(await throughSocks5(address, { host: "web.lab.example", port: 80 }));
  await client.send("x".repeat(3000));
  await client.take(3000);
  const all = opened.move();
  return { home, instance, client, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function topAt(
  python: string,
  home: Household,
  steps: readonly AtTerminal[],
  env: Readonly<Record<string, string>> = {},
): Promise<TerminalSession> {
  const { command, env: own } = home.commandLine(["top"]);
  return await atTerminal(python, command, { steps, env: { ...own, TERM: "xterm", ...env } });
}

peerTest(
  "top shows connections, filters them, closes one after a confirmation, and restores the terminal",
  ["python"],
  async ({ python }) => {
    await using world = await busyInstance();
    const session = await topAt(python, world.home, [
      { until: "web.lab.example:80", press: "/" },
      { until: "Filter: _", press: "lab db\r" },
      { until: '1 of 2 live connections, by age, filtered by "lab db"', press: "x" },
      { until: "Close #1 db.lab.example:5432?", press: "y" },
      { until: "Closed #1", press: "\x1b" },
      { until: "1 live connection, by age\x1b", press: "e" },
      { until: "1 ended connection, by age", press: "q" },
    ]);
    assert.equal(session.code, 0, session.screen);
    const text = session.screen.replace(controls, "");
    assert.match(text, /postern default {2}ready {2}127\.0\.0\.1:\d+ /);
    assert.match(text, /lab +ready +2 /);
    assert.match(text, /> {2}1 {2}db\.lab\.example:5432 {2}lab +/);
    assert.match(text, /db\.lab\.example:5432 {2}lab {3}closed/);
    assert.deepEqual([session.during[0], session.after], [raw, usual]);
    assert.ok(session.screen.includes("\x1b[?1049h"));
    assert.ok(
      session.screen.endsWith("\x1b[?25h\x1b[?1049l"),
      "top restores the cursor and the screen",
    );
    await assert.rejects(world.client.take(1));
    // NO_COLOR is set in a household.
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(session.screen, /\x1b\[[0-9;]*m/);
  },
);

peerTest("top follows the size of its terminal", ["python"], async ({ python }) => {
  await using world = await busyInstance();
  const { screen, code } = await topAt(python, world.home, [
    { until: "db.lab.example:5432", size: { columns: 60, rows: 12 } },
    {
      until: "q quit   / filter   s sort   r reverse   e ended   x close …",
      size: { columns: 150, rows: 40 },
    },
    { until: "arrows move", press: "q" },
  ]);
  assert.equal(code, 0, screen);
});

peerTest("top uses colors without NO_COLOR", ["python"], async ({ python }) => {
  await using world = await busyInstance();
  const { screen } = await topAt(python, world.home, [{ until: "db.lab.example", press: "q" }], {
    NO_COLOR: "",
  });
  assert.ok(screen.includes("\x1b[7m>"), screen);
});

for (const signal of ["INT", "TERM", "HUP"] as const) {
  peerTest(`top restores the terminal after SIG${signal}`, ["python"], async ({ python }) => {
    await using world = await busyInstance();
    const session = await topAt(python, world.home, [{ until: "db.lab.example", signal }]);
    assert.deepEqual([session.code, session.after], [130, usual], session.screen);
    assert.ok(session.screen.includes("\x1b[?1049l"));
  });
}

peerTest("top ends with 130 at the interrupt key", ["python"], async ({ python }) => {
  await using world = await busyInstance();
  const { code, after, screen } = await topAt(python, world.home, [{
    until: "db.lab.example",
    press: "\x03",
  }]);
  assert.deepEqual([code, after], [130, usual], screen);
});

Deno.test("top exits 3 when its instance stops, and does not delay the stop", async () => {
  await using world = await busyInstance();
  const top = world.home.start(["top", "-o", "json"]);
  await top.prints(/"connections":\[\{.*\n/);
  await world.home.run(["stop"]);
  const { code, stderr } = await top.ended;
  assert.deepEqual([code, (await world.instance.ended).code], [3, 0]);
  assert.match(stderr, /Cannot watch the instance: it has stopped/);
});

Deno.test("top without a terminal prints one snapshot or one object per line", async () => {
  await using world = await busyInstance();
  const { code, stdout, stderr } = await world.home.run(["top"]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(
    stdout,
    /^postern default {2}ready [^]*TRANSPORT [^]*\nlab +ready +2 [^]*\n 1 {2}db\.lab\.example:5432 {2}lab /,
  );
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(stdout, /\x1b/);
  const json = await world.home.run(["top", "-o", "json", "--once"]);
  const { status, connections, traffic } = JSON.parse(json.stdout);
  assert.equal(status.id, "default");
  assert.deepEqual(connections.map(({ target }: { target: string }) => target), [
    "db.lab.example:5432",
    "web.lab.example:80",
  ]);
  assert.equal(traffic.open, 2);
});

Deno.test("top exits 3 when no instance runs", async () => {
  await using home = await Household.open();
  const { code, stderr } = await home.run(["top"]);
  assert.equal(code, 3);
  assert.match(stderr, /Cannot query instance "default": it is not running/);
});
