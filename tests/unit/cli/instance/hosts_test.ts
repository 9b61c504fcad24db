import assert from "node:assert/strict";
import { runCommandLine } from "../../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../../src/permissions/mod.ts";
import { commandGroups } from "../../../../src/cli/line/all_commands.ts";
import { settle } from "../../../support/fake_clock.ts";
import { startInstance } from "../../../support/memory_instance.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const context = { groups: commandGroups, version: "1.2.3", writeLogLine: () => {} };
const { signal } = new AbortController();

const config = (range = "127.64.0.0/12", more = "") => `
listen: { mixed: 127.0.0.1:7, dns: 127.0.0.1:53 }
transports: { up: { proxy: { url: "socks5h://127.0.0.1:1" } } }
routes: [{ to: [corp.example, "=one.example", "db.example:6379"${more}], via: up }]
dns: { ${range === "" ? "" : `loopback: ${range}, `}ports: [5432] }
`;

async function place(platform: "linux" | "darwin" = "linux") {
  const world = new MemoryWorld({ files: { "/c.yaml": config(), "/run/me": "" }, platform });
  let said = "";
  Object.assign(world.terminal, { err: (text: string) => Promise.resolve(void (said += text)) });
  let instance = await startInstance(world, { config: "/c.yaml" });
  const end = async () => {
    world.kill("SIGTERM");
    await instance.ended;
  };
  return {
    world,
    end,
    /** Runs `postern hosts` and returns its output. */
    async hosts(...args: string[]) {
      world.out = said = "";
      const code = await runCommandLine(readCommandLine(["hosts", ...args]), world, context);
      return { code, out: world.out, said };
    },
    async restart(text?: string) {
      await end();
      if (text !== undefined) world.files.put("/c.yaml", text);
      instance = await startInstance(world, { config: "/c.yaml" });
      return instance;
    },
    async isOpen(host: string, port = 5432): Promise<boolean> {
      try {
        (await world.network.connect({ host, port }, { signal })).abort();
        return true;
      } catch {
        return false;
      }
    },
  };
}

function block(...lines: string[]): string {
  return ["# BEGIN postern hosts default", ...lines, "# END postern hosts default", ""].join("\n");
}

Deno.test("hosts prints all known names in one order, and again the same", async () => {
  const { hosts, end, isOpen } = await place();
  const { code, out, said } = await hosts();
  assert.equal(code, 0);
  assert.equal(out, block("127.64.0.1 db.example # 6379", "127.64.0.2 one.example # 5432"));
  assert.match(said, /listening for 2 names; any local user can connect/);
  assert.equal((await hosts()).out, out);
  assert.deepEqual([await isOpen("127.64.0.1", 6379), await isOpen("127.64.0.2")], [true, true]);
  await end();
});

Deno.test("hosts prints named hosts only, and names those without an address", async () => {
  const { hosts, end } = await place();
  const { code, out, said } = await hosts("A.corp.example.", "www.example.net", "no host");
  assert.equal(code, 0);
  assert.equal(out, block("127.64.0.1 a.corp.example # 5432"));
  for (const name of ["www.example.net", "no host"]) {
    assert.ok(said.includes(`postern: left out ${name}: Cannot give "${name}" a loopback address`), said);
  }
  const json = JSON.parse((await hosts("a.corp.example", "-o", "json")).out);
  assert.deepEqual(json, {
    range: "127.64.0.0/12",
    hosts: [{ address: "127.64.0.1", name: "a.corp.example", ports: [5432] }],
    problems: [],
  });
  assert.equal((await hosts("a.example", "--release")).code, 2);
  await end();
});

Deno.test("an instance listens for printed names after a restart, until they are released", async () => {
  const { hosts, restart, isOpen, end, world } = await place();
  await hosts("a.corp.example", "one.example");
  await hosts("a.corp.example");
  const opened = await restart();
  await world.clock.advance(3_600_000);
  assert.deepEqual([await isOpen("127.64.0.1"), await isOpen("127.64.0.2")], [true, false]);
  assert.deepEqual(opened.lines.filter(({ level }) => level === "warn"), []);
  const { said } = await hosts("--release");
  assert.equal(said, "postern: released the printed names\n");
  assert.equal(await isOpen("127.64.0.1"), true);
  await world.clock.advance(3_600_000);
  assert.equal(await isOpen("127.64.0.1"), false);
  await restart();
  await world.clock.advance(1);
  assert.equal(await isOpen("127.64.0.1"), false);
  await end();
});

Deno.test("an instance does not listen for printed names that now have a direct route", async () => {
  const { hosts, restart, isOpen, end, world } = await place();
  await hosts("a.corp.example", "one.example");
  await restart(config().replace("corp.example, ", ""));
  await world.clock.advance(1);
  assert.deepEqual([await isOpen("127.64.0.1"), await isOpen("127.64.0.2")], [false, true]);
  await end();
});

Deno.test("an instance listens again for printed names whose rule a reload brings back", async () => {
  const { hosts, isOpen, end, world } = await place();
  await hosts("a.corp.example", "one.example");
  const reload = async (text: string) => {
    world.files.put("/c.yaml", text);
    world.kill("SIGHUP");
    for (let turn = 0; turn < 20; turn++) await settle();
  };
  await reload(config().replace("corp.example, ", ""));
  assert.deepEqual([await isOpen("127.64.0.1"), await isOpen("127.64.0.2")], [false, true]);
  await reload(config());
  assert.deepEqual([await isOpen("127.64.0.1"), await isOpen("127.64.0.2")], [true, true]);
  await world.clock.advance(3_600_000);
  assert.equal(await isOpen("127.64.0.1"), true);
  await end();
});

Deno.test("stored addresses outside a new range are dropped, and printed names get new ones", async () => {
  const { hosts, restart, isOpen, end, world } = await place();
  await hosts("a.corp.example", "one.example");
  await restart(config("127.96.7.0/24"));
  await world.clock.advance(1);
  assert.deepEqual([await isOpen("127.64.0.1"), await isOpen("127.96.7.1")], [false, true]);
  assert.equal((await hosts("one.example")).out, block("127.96.7.2 one.example # 5432"));
  assert.doesNotMatch(await world.files.readText("/state/dns/default.loopback"), /127\.64\./);
  await end();
});

Deno.test("hosts fails without loopback addresses, and without an instance", async () => {
  const { hosts, restart, end } = await place();
  await restart(config(""));
  const { code, said } = await hosts();
  assert.equal(code, 4);
  assert.match(
    said,
    /Cannot list hosts: the instance assigns no loopback addresses\n.*set dns\.loopback/,
  );
  await end();
  assert.equal((await hosts()).code, 3);
});

Deno.test("hosts prints the commands that create the addresses on macOS", async () => {
  const { hosts, end } = await place("darwin");
  const alias = "# run: sudo ifconfig lo0 alias 127.64.0.1/32 up";
  assert.equal((await hosts("one.example")).out, block(alias, "127.64.0.1 one.example # 5432"));
  await end();
});
