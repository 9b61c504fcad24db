import assert from "node:assert/strict";
import { isLongRun } from "../support/long_runs.ts";
import { runPeer } from "../support/peer_program.ts";
import { findPeer, peerTest, skippedTest } from "../support/peers.ts";
import { denoDirectory, Household, type ProgramRuns } from "../support/postern_process.ts";

/** The last commit with its sockets in the temporary directory when there was no other directory. */
const earlier = "1b7a6d2e3ff5ba1accba9b20db84de916ae70e22";
const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);

const config = `
listen: { mixed: "127.0.0.1:0", dns: "127.0.0.1:0" }
transports: { up: { proxy: { url: "socks5h://127.0.0.1:1" } } }
routes: [{ to: [corp.example], via: up }]
dns: { domains: [corp.example] }
`;

/** The commands to an instance, with their expected output. */
const asked: readonly { readonly args: readonly string[]; readonly prints: RegExp }[] = [
  { args: ["status", "-o", "json"], prints: /"id": "default"/ },
  { args: ["status"], prints: /^default {2}ready/ },
  { args: ["status", "--page"], prints: /^http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{48}\n$/ },
  { args: ["connections", "-o", "json"], prints: /^\[\]\n$/ },
  { args: ["top", "--once"], prints: /^postern default {2}ready/ },
  { args: ["explain", "a.corp.example"], prints: /goes to up\n/ },
  { args: ["explain", "--dial", "a.corp.example", "-o", "json"], prints: /"error": \{/ },
  { args: ["env", "--shell", "sh"], prints: /^export all_proxy='socks5h:\/\/127\.0\.0\.1:\d+'$/m },
  { args: ["pac"], prints: /^var PROXY = "SOCKS5 127\.0\.0\.1:\d+";$/m },
  {
    args: ["dns", "--print", "systemd-resolved"],
    prints: /^DNS=127\.0\.0\.1:\d+\nDomains=~corp\.example\n$/m,
  },
  { args: ["reload", "-o", "json"], prints: /"changed": false/ },
];

/** Which program runs the instance and which one the command, and whether a runtime directory exists. */
const pairs = [
  { instance: "earlier", command: "now", hasRuntime: true },
  { instance: "earlier", command: "now", hasRuntime: false },
  { instance: "now", command: "earlier", hasRuntime: true },
] as const;

const missing = reason();
for (const { instance, command, hasRuntime } of pairs) {
  const where = hasRuntime ? "" : ", without a runtime directory";
  const name = `the ${command} command line works with the ${instance} instance${where}`;
  if (missing !== undefined) {
    skippedTest(name, missing);
    continue;
  }
  peerTest(name, ["git"], async ({ git }) => {
    await using home = await Household.open({ hasRuntime });
    const tree = await checkedOut(git, home.directory);
    const may = ["--allow-run", "--allow-read", "--allow-env", "--allow-sys=uid"];
    const words = [Deno.execPath(), "run", "--no-prompt", ...may, `${tree}/scripts/postern.ts`];
    const programs: Record<string, ProgramRuns> = { earlier: home.with(words), now: home };
    const [server, client] = [programs[instance] ?? home, programs[command] ?? home];
    await home.configure(config);
    const listener = server.start(["proxy"], { env: { DENO_DIR: await denoDirectory() } });
    await listener.ready;
    for (const { args, prints } of asked) {
      const { code, stdout, stderr } = await client.run(args);
      assert.equal(code, args.includes("--dial") ? 6 : 0, `${args.join(" ")}: ${stderr}`);
      assert.match(stdout, prints, args.join(" "));
    }
    if (instance === "earlier") {
      // An instance of that version cannot forward for a command.
      await using forward = client.start(["forward", "127.0.0.1:0:a.corp.example:1"]);
      await forward.ready;
      assert.match(
        forward.stderr,
        /^postern: instance "default" runs an older postern: forwarding by itself\n/,
      );
    }
    const stopped = await client.run(["stop"]);
    assert.deepEqual(stopped, { code: 0, stdout: "", stderr: 'postern: stopped "default"\n' });
    assert.equal((await listener.ended).code, 0, listener.stderr);
    assert.equal((await client.run(["status"])).code, 3);
  }, { platforms: ["linux", "darwin"] });
}

async function checkedOut(git: string, directory: string): Promise<string> {
  const tree = `${directory}/tree`;
  for (
    const words of [
      ["clone", "--quiet", "--shared", "--no-checkout", root, tree],
      ["-C", tree, "checkout", "--quiet", earlier],
    ]
  ) {
    const { code, stderr } = await runPeer(git, words);
    assert.equal(code, 0, stderr);
  }
  return tree;
}

/** Why this test is skipped here. */
function reason(): string | undefined {
  if (!isLongRun()) return "only on a long run: POSTERN_LONG=1";
  const git = findPeer("git");
  if ("missing" in git) return undefined;
  const args = ["-C", root, "cat-file", "-e", `${earlier}^{commit}`];
  const { success } = new Deno.Command(git.path, { args, stderr: "null" }).outputSync();
  return success ? undefined : `only on a clone whose history has ${earlier.slice(0, 7)}`;
}
