import assert from "node:assert/strict";
import { storeClusters } from "../support/lab_clusters.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { compiled, denoDirectory, type Ended, Household, Instance } from "../support/postern_process.ts";

const script = new URL("../../scripts/deb.ts", import.meta.url).pathname;
const name = "dpkg installs the package, upgrades it under a running instance, and removes it";
const program = compiled();
if (program === undefined) skippedTest(name, "only on a compiled program: POSTERN_BIN is not set");
else {
  peerTest(name, ["dpkg", "bash"], async ({ dpkg, bash }, t) => {
    const directory = await Deno.makeTempDir({ prefix: "deb-" });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    const root = `${directory}/root`, installed = `${root}/usr/bin/postern`;
    const env = { HOME: directory, DENO_DIR: await denoDirectory() };
    const run = async (path: string, ...args: readonly string[]) => {
      const { code, stdout, stderr } = await runPeer(path, args, { env });
      assert.equal(code, 0, `${args.join(" ")}: ${stderr}${stdout}`);
      return stdout.trim();
    };
    const make = async (...more: readonly string[]) => {
      const said = await run(
        Deno.execPath(),
        ...[
          "run",
          "--no-prompt",
          "--allow-read",
          `--allow-write=${directory}`,
          "--allow-run=git",
          "--allow-env",
        ],
        ...[script, "--program", program, "--output", directory, ...more],
      );
      return said.replace(/^package: /, "");
    };
    // An empty system, except for the dependencies of the package, which come from this machine.
    for (const path of ["var/lib/dpkg/info", "var/lib/dpkg/updates"]) {
      await Deno.mkdir(`${root}/${path}`, { recursive: true });
    }
    await Deno.writeTextFile(`${root}/var/lib/dpkg/status`, "");
    const manage = (...args: readonly string[]) => run(dpkg, `--root=${root}`, "--force-depends", ...args);

    await using home = await Household.open();
    const postern = async (...args: readonly string[]): Promise<Ended> =>
      await runPeer(bash, ["-c", 'exec "$@"', "bash", installed, ...args], { env: home.commandLine([]).env });

    await t.step("the package is complete, and the program runs", async () => {
      await manage("--install", await make("--version", "0.0.1"));
      assert.equal(await manage("--verify", "postern"), "");
      assert.match((await postern("--version")).stdout, /^postern \d/);
      const manual = await Array.fromAsync(Deno.readDir(`${root}/usr/share/man/man1`));
      assert.ok(manual.some(({ name }) => name === "postern-proxy.1.gz"));
    });

    await t.step("bash completes its commands", async () => {
      const completions = `${root}/usr/share/bash-completion/completions/postern`;
      const lines =
        `PATH=${root}/usr/bin:$PATH; . ${completions}; COMP_WORDS=(postern expl); COMP_CWORD=1; ` +
        "COMP_LINE='postern expl'; COMP_POINT=12; _postern postern expl postern; echo ${COMPREPLY[*]}";
      assert.equal(await run(bash, "--norc", "-c", lines), "explain");
    });

    await storeClusters(home);
    await home.configure(
      "transports: { far: { reject: nothing there } }\nroutes: [{ to: far.example, via: far }]\n",
    );
    const clusters = async () => (await postern("clusters", "-o", "json")).stdout;
    const before = await clusters();
    assert.match(before, /c-lab-1/);

    await t.step("an upgrade keeps the running instance, its state and its stored data", async () => {
      const child = new Deno.Command(bash, {
        args: ["-c", 'exec "$@"', "bash", installed, "proxy", "--listen", "127.0.0.1:0"],
        env: { ...home.commandLine([]).env },
        clearEnv: true,
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      await using instance = new Instance(child);
      await instance.ready;
      await manage("--install", await make("--version", "0.0.2"));
      assert.match(await manage("--status", "postern"), /^Version: 0\.0\.2$/m);
      const { code, stdout } = await postern("status", "-o", "json");
      assert.equal(code, 0);
      assert.ok(stdout.includes(await instance.address()), stdout);
      assert.equal(await clusters(), before);
      assert.equal((await postern("stop")).code, 0);
      assert.equal((await instance.ended).code, 0);
    });

    await t.step("removal leaves only the user's own files", async () => {
      await manage("--remove", "postern");
      await assert.rejects(Deno.stat(`${root}/usr`), Deno.errors.NotFound);
      assert.ok((await Deno.stat(`${home.places.cache}/catalogue/snapshot.json`)).isFile);
    });
  });
}
