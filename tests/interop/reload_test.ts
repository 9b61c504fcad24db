import assert from "node:assert/strict";
import { eventually, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { RawClient, socks5Asking, throughSocks5 } from "../support/raw_client.ts";
import { echoServer } from "../support/target_server.ts";
import { large, sha256, WebSite } from "../support/web_site.ts";

const open = "default: direct\n";
const closed = "routes: [{ to: 127.0.0.1, via: reject }]\n";
const broken = "routes:\n  - { to: 127.0.0.1, via: nowhere }\n";

/** The SOCKS5 reply to a request for a port of loopback. */
async function reply(instance: string, port: number): Promise<number | undefined> {
  using client = await RawClient.connect(instance);
  await client.send(socks5Asking({ host: "127.0.0.1", port }));
  return (await client.take(12))[3];
}

async function becomes(instance: Instance, port: number, code: number): Promise<void> {
  const address = await instance.address();
  const start = performance.now();
  await eventually(`reply ${code}`, async () => await reply(address, port) === code);
  assert.ok(performance.now() - start < 1500, "the new route must work within a second or so");
}

interface Replacing {
  readonly name: string;
  /** Writes a first configuration; returns its path and a function that replaces it. */
  readonly prepare: (home: Household, first: string, bash: string) => Promise<{
    path: string;
    replace: (text: string) => Promise<void>;
  }>;
}

const replacements: readonly Replacing[] = [
  {
    name: "a rename",
    prepare: async (home, first) => {
      const path = await home.configure(first);
      return { path, replace: async (text) => void await home.configure(text) };
    },
  },
  {
    name: "an editor that truncates and writes",
    prepare: async (home, first) => {
      const path = await home.configure(first);
      return {
        path,
        replace: async (text) => {
          using file = await Deno.open(path, { write: true, truncate: true });
          for (const part of [text.slice(0, 7), text.slice(7)]) {
            await file.write(new TextEncoder().encode(part));
            await file.sync();
          }
        },
      };
    },
  },
  {
    name: "an editor that renames the old file first",
    prepare: async (home, first) => {
      const path = await home.configure(first);
      return {
        path,
        replace: async (text) => {
          await Deno.rename(path, `${path}~`);
          await Deno.writeTextFile(path, text);
          await Deno.remove(`${path}~`);
        },
      };
    },
  },
  {
    name: "a symlink swap as in a mounted ConfigMap",
    prepare: async ({ directory }, first, bash) => {
      const mount = `${directory}/mount`;
      let count = 0;
      const put = async (text: string) => {
        const version = `..version${count++}`;
        await Deno.mkdir(`${mount}/${version}`, { recursive: true });
        await Deno.writeTextFile(`${mount}/${version}/config.yaml`, text);
        await run(bash, `ln -s ${version} ..data_tmp && mv -T ..data_tmp ..data`, mount);
        if (count > 1) await Deno.remove(`${mount}/..version${count - 2}`, { recursive: true });
      };
      await put(first);
      await run(bash, "ln -s ..data/config.yaml config.yaml", mount);
      return { path: `${mount}/config.yaml`, replace: put };
    },
  },
];

/** Creating links needs a shell: Deno creates them only with unrestricted write permission. */
async function run(bash: string, script: string, cwd: string): Promise<void> {
  const { code, stderr } = await runPeer(bash, ["-c", script], { cwd });
  assert.equal(code, 0, stderr);
}

for (const { name, prepare } of replacements) {
  peerTest(
    `a configuration replaced by ${name} is loaded within a second, a broken one is not`,
    ["bash"],
    async (
      { bash },
    ) => {
      await using home = await Household.open();
      await using target = echoServer();
      const { path, replace } = await prepare(home, open, bash);
      await using instance = await home.instance(["--config", path]);
      assert.equal(await reply(await instance.address(), target.port), 0);
      for (let round = 0; round < 2; round++) {
        await replace(closed);
        await becomes(instance, target.port, 2);
        await replace(broken);
        const { index } = await instance.says(/config\.refused .*config\.yaml:2:\d+/);
        assert.ok(index > 0);
        assert.equal(await reply(await instance.address(), target.port), 2);
        await replace(open);
        await becomes(instance, target.port, 0);
      }
    },
  );
}

Deno.test("status shows why a configuration is not used, until it is corrected", async () => {
  await using home = await Household.open();
  await home.configure(closed);
  await using instance = await home.instance();
  const problem = async () => JSON.parse((await home.run(["status", "-o", "json"])).stdout)[0].config.problem;
  assert.equal(await problem(), undefined);
  await home.configure(broken);
  await instance.says(/config\.refused/);
  assert.match(await problem(), /config\.yaml:2:\d+: .*"?nowhere"?/);
  await home.configure(open);
  await instance.says(/config\.reloaded/);
  assert.equal(await problem(), undefined);
});

Deno.test("a download survives reloads that remove its route, and new connections are refused", async () => {
  await using home = await Household.open();
  await home.configure(open);
  await using site = new WebSite();
  await using instance = await home.instance();
  const address = await instance.address();
  const host = { host: "127.0.0.1", port: site.port };
  using client = await throughSocks5(address, host);
  await client.send(`GET /large HTTP/1.0\r\nHost: x\r\n\r\n`);
  await client.takeUntil("\r\n\r\n");
  await home.configure(closed);
  await becomes(instance, site.port, 2);
  await home.configure(broken);
  await instance.says(/config\.refused/);
  assert.equal(await reply(address, site.port), 2);
  assert.equal(await sha256(await client.rest()), await sha256(large()));
  await instance.says(
    new RegExp(`conn\\.done .*target=127\\.0\\.0\\.1:${site.port} transport=direct .*outcome=done`),
  );
});

const bomb = [
  "a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
  ...Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(10)}]`),
].join("\n");

const refused = [
  { name: "of 10 MB", text: `# ${"x".repeat(10_000_000)}\n`, says: /2 ?MB|2000000|bytes/ },
  { name: "that is a YAML bomb", text: bomb, says: /alias/i },
  { name: "that is not text", text: "\u0000\u0001".repeat(100), says: /config\.yaml/ },
];

for (const { name, text, says } of refused) {
  Deno.test(`a configuration ${name} is refused at start, by check and at a reload`, async () => {
    await using home = await Household.open();
    const path = `${home.directory}/config.yaml`;
    await Deno.writeTextFile(path, text);
    for (const args of [["config", "check"], ["proxy", "--listen", "127.0.0.1:0"]]) {
      const { code, stderr, stdout } = await home.run([...args, "--config", path]);
      assert.equal(code, 4, stderr);
      assert.match(stderr + stdout, says);
    }
    await home.configure(open);
    await using instance = await home.instance();
    await home.configure(text);
    await instance.says(/config\.refused/);
    assert.equal((await home.run(["reload"])).code, 4);
    await using target = echoServer();
    assert.equal(await reply(await instance.address(), target.port), 0);
  });
}
