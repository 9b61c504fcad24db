import assert from "node:assert/strict";
import settings from "../../deno.json" with { type: "json" };
import { formulaOf } from "../../scripts/formula.ts";
import { manualPages } from "../../scripts/man.ts";
import { manualName, programName, type ReleaseSystem } from "../../scripts/release_files.ts";
import { writeTar } from "../../scripts/tar.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { compiled } from "../support/postern_process.ts";
import { sumOf } from "../support/release_server.ts";

const standIn = new URL("../support/formula_stand_in.rb", import.meta.url).pathname;
const { version } = settings;
const project = "https://git.example.net/us/postern";
const release = `${project}/releases/download/v${version}`;

/** Homebrew's names of the systems. */
const systems: readonly (readonly [system: string, processor: string, ours: ReleaseSystem])[] = [
  ["macos", "arm", "macos-arm64"],
  ["macos", "intel", "macos-x64"],
  ["linux", "arm", "linux-arm64"],
  ["linux", "intel", "linux-x64"],
];

peerTest(
  "the formula for Homebrew is valid Ruby, and names the release's files for each system",
  ["ruby"],
  async ({ ruby }, t) => {
    await using stack = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "formula-" });
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    const names = [...systems.map(([, , ours]) => programName(version, ours)), manualName(version)];
    const sums = new Map<string, string>();
    for (const name of names) sums.set(name, await sumOf(new TextEncoder().encode(name)));
    const formula = `${directory}/postern.rb`;
    await Deno.writeTextFile(formula, formulaOf({ version, project, sums }));

    await t.step("Ruby reports no error", async () => {
      const { code, stdout, stderr } = await runPeer(ruby, ["-wc", formula]);
      assert.deepEqual([code, stdout, stderr], [0, "Syntax OK\n", ""]);
    });
    for (const [system, processor, ours] of systems) {
      await t.step(`${system} on ${processor}`, async () => {
        const { stdout, stderr } = await runPeer(ruby, [standIn, formula, system, processor]);
        assert.equal(stderr, "");
        const { caveats, desc, ...told } = JSON.parse(stdout);
        const name = programName(version, ours), manual = manualName(version);
        assert.deepEqual(told, {
          class: "Postern",
          homepage: project,
          version,
          license: "Apache-2.0",
          url: `${release}/${name}`,
          sha256: sums.get(name),
          manual: { url: `${release}/${manual}`, sha256: sums.get(manual) },
          service: {
            run: ["/opt-of-homebrew/postern/bin/postern", "proxy"],
            keep_alive: true,
            process_type: "interactive",
            log_path: "/var-of-homebrew/log/postern.log",
            error_log_path: "/var-of-homebrew/log/postern.log",
          },
        });
        // The rules of `brew audit` for a description.
        assert.ok(desc.length <= 80 && !/\.$|^(An?|The) |^postern/i.test(desc), desc);
        assert.match(caveats, /postern service-install\n/);
      });
    }
  },
);

const install =
  "the formula for Homebrew installs the program with manual and completions, and its test passes";
const program = compiled();
if (program === undefined) skippedTest(install, "only on a compiled program: POSTERN_BIN is not set");
else {
  peerTest(install, ["ruby", "bash"], async ({ ruby, bash }, t) => {
    await using stack = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "formula-" });
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    const files = `${directory}/files`,
      prefix = `${directory}/Cellar/postern/${version}`,
      formula = `${directory}/postern.rb`;
    await Deno.mkdir(files);
    const here = programName(version, "linux-x64");
    await Deno.copyFile(program, `${files}/${here}`);
    await Deno.chmod(`${files}/${here}`, 0o644);
    await Deno.writeFile(`${files}/${manualName(version)}`, await manual());
    const sums = new Map([...systems].map(([, , ours]) => [programName(version, ours), "0".repeat(64)]));
    for (const name of [here, manualName(version)]) {
      sums.set(name, await sumOf(await Deno.readFile(`${files}/${name}`)));
    }
    const run = async (sums: ReadonlyMap<string, string>) => {
      await Deno.writeTextFile(formula, formulaOf({ version, project, sums }));
      const words = [standIn, formula, "linux", "intel", "--install", files, prefix];
      return await runPeer(ruby, words, {
        env: { HOME: directory, XDG_RUNTIME_DIR: directory, TMPDIR: directory },
      });
    };

    await t.step("a wrong file is rejected", async () => {
      const { code, stderr } = await run(new Map(sums).set(here, "1".repeat(64)));
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`${here} is [0-9a-f]{64}, not 1{64}`));
    });
    await t.step("its test passes", async () => {
      const { code, stderr } = await run(sums);
      assert.equal(code, 0, stderr);
    });
    await t.step("the service file names the link that survives an upgrade", async () => {
      const lines =
        'mkdir -p opt && ln -s "../Cellar/postern/$1" opt/postern && exec "opt/postern/bin/postern" service-install --always --print';
      const env = { HOME: directory, XDG_RUNTIME_DIR: directory, TMPDIR: directory };
      const { code, stdout, stderr } = await runPeer(bash, ["-c", lines, "bash", version], {
        cwd: directory,
        env,
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^ExecStart=${directory}/opt/postern/bin/postern proxy`, "m"));
    });
    await t.step("everything is in Homebrew's directories", async () => {
      assert.equal(((await Deno.stat(`${prefix}/bin/postern`)).mode ?? 0) & 0o777, 0o555);
      const pages = await Array.fromAsync(Deno.readDir(`${prefix}/share/man/man1`));
      assert.ok(pages.some(({ name }) => name === "postern-proxy.1"));
      const completions = ["etc/bash_completion.d/postern", "share/zsh/site-functions/_postern"];
      for (const path of [...completions, "share/fish/vendor_completions.d/postern.fish"]) {
        assert.match(await Deno.readTextFile(`${prefix}/${path}`), /postern.*completion/s);
      }
    });
  });
}

/** Packs the manual as the workflow does. */
async function manual(): Promise<Uint8Array<ArrayBuffer>> {
  const pages = [...manualPages("2026-01-02")].map(([name, page]) => ({
    type: "file" as const,
    path: `man1/${name}.1`,
    mode: 0o644,
    content: new TextEncoder().encode(page),
  }));
  const packed = new Blob([...writeTar(pages)]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(packed).bytes();
}
