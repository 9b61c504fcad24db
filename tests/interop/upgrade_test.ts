import assert from "node:assert/strict";
import settings from "../../deno.json" with { type: "json" };
import { Lieutenant } from "../support/lieutenant.ts";
import { DistantCompany, goOn, known, live } from "../support/lived_home.ts";
import { isLongRun } from "../support/long_runs.ts";
import { freePort, runPeer } from "../support/peer_program.ts";
import { findPeer, peerTest, skippedTest } from "../support/peers.ts";
import { compiled, denoDirectory, Household, type Instance } from "../support/postern_process.ts";
import { latin1, RawClient, throughSocks5 } from "../support/raw_client.ts";
import { sshHostLines, writeSshConfig } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { copyBetween, echoServer, TargetServer } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";

/** The earlier program: a commit some days older, with a separate version. */
const earlier = { commit: "dc38d2bacdcdcd57277b6488e77d95fb804a4621", version: "0.0.9" };
const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const name = "an upgrade of the package from an earlier program and a downgrade keep all stored data";

const program = compiled();
const missing = reason();
if (program === undefined || missing !== undefined) skippedTest(name, missing ?? "");
else {
  const peers = ["git", "dpkg", "bash", "kubernetes", "lieutenant", ...sshPeers] as const;
  peerTest(name, peers, async ({ git, dpkg, bash, ...paths }, t) => {
    await using stack = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "upgrade-" });
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    const system = `${directory}/root`, installed = `${system}/usr/bin/postern`;
    const script = async (path: string, ...args: readonly string[]) => {
      const places = ["HOME", "XDG_CACHE_HOME"].flatMap((name) => {
        const value = Deno.env.get(name);
        return value === undefined ? [] : [[name, value]];
      });
      const env = { ...Object.fromEntries(places), DENO_DIR: await denoDirectory(), NO_COLOR: "1" };
      const may = ["read", "write", "run", "env"].map((kind) => `--allow-${kind}`);
      const words = ["run", "--no-prompt", ...may, "--allow-sys=uid", path, ...args];
      const { code, stdout, stderr } = await runPeer(Deno.execPath(), words, { env });
      assert.equal(code, 0, stderr);
      return stdout.trim();
    };
    const packageOf = async (program: string, version: string) =>
      (await script(
        `${root}scripts/deb.ts`,
        ...["--program", program, "--version", version, "--output", directory],
      )).replace(/^package: /, "");
    for (const path of ["info", "updates"]) {
      await Deno.mkdir(`${system}/var/lib/dpkg/${path}`, { recursive: true });
    }
    await Deno.writeTextFile(`${system}/var/lib/dpkg/status`, "");
    const install = async (file: string) => {
      const { code, stderr } = await runPeer(dpkg, [
        `--root=${system}`,
        "--force-depends",
        "--install",
        file,
      ]);
      assert.equal(code, 0, stderr);
    };

    const tree = `${directory}/tree`;
    for (
      const words of [["clone", "--quiet", "--shared", "--no-checkout", root, tree], [
        "-C",
        tree,
        "checkout",
        "--quiet",
        earlier.commit,
      ]]
    ) {
      const { code, stderr } = await runPeer(git, words);
      assert.equal(code, 0, stderr);
    }
    const config = await Deno.readTextFile(`${tree}/deno.json`);
    await Deno.writeTextFile(
      `${tree}/deno.json`,
      config.replace(/"version": "[^"]+"/, `"version": "${earlier.version}"`),
    );
    await script(`${tree}/scripts/compile.ts`, "--runtime", "2.4.2");
    const packages = {
      earlier: await packageOf(`${tree}/dist/postern`, earlier.version),
      now: await packageOf(program, settings.version),
    };

    await using company = await DistantCompany.open();
    const oidc = {
      issuer: company.oidc.issuer.replace("http:", "https:"),
      clientId: "lieutenant",
      discoveryUrl: company.oidc.discoveryUrl,
    };
    const clusters = [{
      id: "c-real",
      tenant: "t-real",
      displayName: "Real",
      facts: { jumphost: "jump", jumphostDomains: "real.example.com" },
    }];
    const lieutenant = stack.use(await Lieutenant.start({ ...paths, clusters, oidc }));
    const front = stack.use(plainFront(lieutenant.url));
    const lab = stack.use(await SshLab.create(paths));
    const jump = await lab.start("one");
    await using home = await Household.open();
    await using echo = echoServer();
    const ports = { port: freePort(), dns: freePort() };
    const address = `127.0.0.1:${ports.port}`;
    const knownHosts = `${home.directory}/.ssh/known_hosts`;
    const trusting = (how: string) =>
      writeSshConfig(
        { ...lab, user: lab.user, key: lab.key, knownHosts },
        sshHostLines("jump", jump, `StrictHostKeyChecking ${how}`),
      );
    await Deno.writeTextFile(`${home.directory}/token`, `${Lieutenant.tokens.alice}\n`, { mode: 0o600 });
    company.more.catalogues = [`{ name: real, lieutenant: "http://${front.address}" }`];
    company.more.lines = [`ssh: { config: "${await trusting("accept-new")}" }`, "default: direct"];
    // Skip the calls to systemd: this user has no systemd here.
    await Deno.mkdir(`${home.directory}/bin`);
    await Deno.writeTextFile(`${home.directory}/bin/systemctl`, "#!/bin/sh\n", { mode: 0o755 });
    const postern = home.with([bash, "-c", 'PATH="$HOME/bin:$PATH" exec "$@"', "bash", installed]);
    const run = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await postern.run(args);
      assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
      return stdout + stderr;
    };
    const version = async () =>
      JSON.parse((await run("status", "-o", "json")).replace(/\]\n[^]*$/, "]"))[0].version;
    const stop = async (instance: Instance) => {
      await run("stop");
      assert.equal((await instance.ended).code, 0, instance.stderr);
    };
    const units = ["service", "install", "--always", "--update-timer", "--yes"];

    await install(packages.earlier);
    let instance = await live(home, postern, { company, ports });
    await run("update", "real", "--token-file", `${home.directory}/token`);
    await run("test", "jump", "--own-sessions");
    const hosts = await Deno.readTextFile(knownHosts);
    assert.match(hosts, new RegExp(`^\\[127\\.0\\.0\\.1\\]:${jump.port} ssh-ed25519 `));
    await run(...units);
    const before = await known(postern, ports);
    assert.match(JSON.stringify(before.clusters), /c-real/);
    using client = await throughSocks5(address, { host: "127.0.0.1", port: echo.port });
    const lives = async () => {
      await client.send("hello");
      assert.deepEqual(await client.take(5), latin1("hello"));
    };
    await lives();
    assert.equal(await version(), earlier.version);
    await trusting("yes");
    const isAllThere = async () => {
      assert.deepEqual(await known(postern, ports), before);
      await run("test", "jump", "--own-sessions");
      assert.equal(await Deno.readTextFile(knownHosts), hosts);
    };

    await t.step(
      "upgrade with a running instance: it keeps running, and today's program talks to it",
      async () => {
        await install(packages.now);
        assert.equal(await run("--version"), `postern ${settings.version}\n`);
        await lives();
        assert.equal(await version(), earlier.version);
        await isAllThere();
        assert.match(await run("reload"), /no changes|reloaded/);
        const { stdout } = await postern.run(["doctor"]);
        assert.match(stdout, /^warning instance "default": ready, version 0\.0\.9.*\n +this postern is /m);
        const second = await postern.run(["proxy"]);
        assert.deepEqual([second.code, second.stdout], [1, ""]);
        assert.match(
          second.stderr,
          /postern: error: Cannot start instance "default": it is already running\n/,
        );
      },
    );
    await t.step("today's program stops it and starts its own instance with the same data", async () => {
      client.close();
      await stop(instance);
      instance = postern.start(["proxy"]);
      await instance.ready;
      assert.equal(await version(), settings.version);
      await isAllThere();
      await goOn(postern, company);
      assert.match(
        await run("update", "real", "--token-file", `${home.directory}/token`),
        /, no changes \(/,
      );
    });
    await t.step("today's program recognizes the earlier program's units and rewrites them", async () => {
      assert.match(await run("service", "status", "-o", "json"), /postern-update\.timer/);
      await run(...units);
    });
    await t.step(
      "downgrade: the earlier program talks to today's instance, stops it, and has the same data",
      async () => {
        const now = await known(postern, ports);
        await install(packages.earlier);
        assert.equal(await run("--version"), `postern ${earlier.version}\n`);
        assert.equal(await version(), settings.version);
        assert.deepEqual(await known(postern, ports), now);
        await stop(instance);
        instance = postern.start(["proxy"]);
        await instance.ready;
        assert.equal(await version(), earlier.version);
        assert.deepEqual(await known(postern, ports), now);
        await goOn(postern, company);
      },
    );
    await t.step("today's program removes the units of both programs", async () => {
      await install(packages.now);
      await stop(instance);
      await run("service-uninstall", "--yes");
      assert.deepEqual([...Deno.readDirSync(`${home.directory}/config/systemd/user`)], []);
    });
    await t.step("removing the package keeps the user's files", async () => {
      const { code, stderr } = await runPeer(dpkg, [`--root=${system}`, "--remove", "postern"]);
      assert.equal(code, 0, stderr);
      await assert.rejects(Deno.stat(installed), Deno.errors.NotFound);
      assert.ok((await Deno.stat(`${home.places.cache}/catalogue/catalogue.kv`)).isFile);
      assert.equal(await Deno.readTextFile(knownHosts), hosts);
    });
  });
}

/** A plain port in front of a TLS server: programs compiled with Deno 2.4.2 cannot use TLS. */
function plainFront({ hostname, port }: URL): TargetServer {
  return new TargetServer(async (client) => {
    const conn = await Deno.connectTls({ hostname, port: Number(port), caCerts: [testTls.ca] });
    using behind = new RawClient(conn);
    await copyBetween(client, behind);
  });
}

/** Why this test is skipped here. */
function reason(): string | undefined {
  if (program === undefined) return "only on a compiled program: POSTERN_BIN names none";
  if (!isLongRun()) return "only on a long run: POSTERN_LONG=1";
  const git = findPeer("git");
  if ("missing" in git) return undefined;
  const { success } = new Deno.Command(git.path, {
    args: ["-C", root, "cat-file", "-e", `${earlier.commit}^{commit}`],
    stderr: "null",
  }).outputSync();
  return success ? undefined : `only on a clone whose history has ${earlier.commit.slice(0, 7)}`;
}
