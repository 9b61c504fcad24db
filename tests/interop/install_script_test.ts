import assert from "node:assert/strict";
import { installerOf } from "../../scripts/installers.ts";
import settings from "../../deno.json" with { type: "json" };
import { inNamespace, namespaceTest } from "../support/namespaces.ts";
import { eventually, runPeer } from "../support/peer_program.ts";
import { findPeer, type PeerPaths, peerTest, skippedTest } from "../support/peers.ts";
import { compiled, type Ended, Household, Instance } from "../support/postern_process.ts";
import { ReleaseServer, sumOf, wholeFile } from "../support/release_server.ts";

const script = new URL("../../scripts/install.sh", import.meta.url).pathname;
const linux = { platforms: ["linux"] as const };
const { version } = settings;
const x64 = `postern-${version}-linux-x64`;

/** A directory for an installation, and a release to install. */
class Place implements AsyncDisposable {
  readonly release = new ReleaseServer();
  readonly home: string;

  private constructor(home: string) {
    this.home = home;
  }

  static async open(): Promise<Place> {
    return new Place(await Deno.makeTempDir({ prefix: "install-" }));
  }

  get installed(): string {
    return `${this.home}/.local/bin/postern`;
  }

  /** Runs the script; `shell` may consist of several words. */
  async install(
    shell: readonly string[],
    args: readonly string[] = [],
    { path = Deno.env.get("PATH") ?? "", version: asked = version } = {},
  ): Promise<Ended> {
    const [program = "", ...words] = shell;
    return await runPeer(program, [...words, script, "--version", asked, ...args], {
      env: { HOME: this.home, PATH: path, POSTERN_RELEASES: this.release.url },
    });
  }

  /** Lists all files. */
  async left(): Promise<string[]> {
    return (await Array.fromAsync(below(this.home))).sort();
  }

  /** Creates a directory for PATH with only these programs, each run by `through`. */
  async tools(names: readonly string[], through: (name: string) => string): Promise<string> {
    const directory = await Deno.makeTempDir({ prefix: "tools-", dir: this.home });
    for (const name of names) {
      await Deno.writeTextFile(`${directory}/${name}`, `#!/bin/sh\n${through(name)}\n`, { mode: 0o755 });
    }
    return directory;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release[Symbol.asyncDispose]();
    await Deno.remove(this.home, { recursive: true });
  }
}

async function* below(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    yield `${directory}/${name}`;
    if (isDirectory) yield* below(`${directory}/${name}`);
  }
}

/** Programs of every system, except for those that download and verify. */
const basic = [
  ...["cat", "chmod", "dirname", "getconf", "mkdir", "mktemp", "mv", "printf", "rm", "rmdir", "sleep"],
  "uname",
];
const ofSystem = (name: string) => `PATH=/usr/bin:/bin exec ${name} "$@"`;

const program = compiled();
const sumsUp =
  "postern: the checksum comes from the same site: it proves a complete download, not who built it\n";
const onlyCompiled = "only on a compiled program: POSTERN_BIN is not set";

const shells = [["sh", []], ["bash", []], ["busybox", ["sh"]]] as const;
for (const [shell, words] of shells) {
  peerTest(
    `install.sh runs nothing when it is truncated at any place, in ${shell}`,
    [shell],
    async (paths) => {
      await using place = await Place.open();
      // In the release's form, which needs no arguments.
      const source = await Deno.readTextFile(script);
      const text = installerOf(source, { version, project: "https://git.example.net/us/postern" })
        .replace(/(release_url=)'.*'/, `$1'${place.release.url}'`);
      assert.ok(text.includes(`='${place.release.url}'`));
      const lines = [...text.matchAll(/\n/g)].map(({ index }) => index);
      const cuts = [...new Set([...lines, ...lines.map((at) => at + 3), ...ends(text)])];
      for (const cut of cuts.filter((cut) => cut < text.trimEnd().length)) {
        await runPeer(programOf(paths, shell), words, {
          env: { HOME: place.home },
          stdin: text.slice(0, cut),
        });
      }
      assert.deepEqual(place.release.asked, []);
      assert.deepEqual(await place.left(), []);
    },
  );
}

/** Every position in the last lines, where the work starts. */
function ends(text: string): number[] {
  return Array.from({ length: 60 }, (_, at) => text.length - at);
}

function programOf<Name extends "sh" | "bash" | "busybox">(paths: PeerPaths<Name>, name: Name): string {
  return paths[name];
}

/** Systems with different programs. */
const systems = [
  { name: "all programs", shell: "sh", words: [], peers: ["curl"], tools: undefined },
  { name: "curl and shasum", shell: "bash", words: [], peers: ["curl"], tools: ["curl", "shasum"] },
  {
    name: "GNU's wget and openssl",
    shell: "sh",
    words: [],
    peers: ["wget", "openssl"],
    tools: ["wget", "openssl"],
  },
  { name: "only busybox", shell: "busybox", words: ["sh"], peers: [], tools: "busybox" },
] as const;
for (const { name, shell, words, peers, tools } of systems) {
  const title = `install.sh installs, and reinstalls, with ${name}`;
  if (program === undefined) skippedTest(title, onlyCompiled);
  else {
    peerTest(title, [shell, ...peers], async (paths) => {
      await using place = await Place.open();
      await place.release.publish(x64, await Deno.readFile(program));
      const through = findPeer(shell);
      assert.ok("path" in through);
      const path = tools === undefined ? Deno.env.get("PATH") ?? "" : tools === "busybox"
        ? await place.tools(
          [...basic, "wget", "sha256sum"].filter((name) => name !== "getconf"),
          (name) => `exec ${through.path} ${name} "$@"`,
        )
        : await place.tools([...basic, ...tools], ofSystem);
      const before = await place.left();
      const shellPath = Object.entries<string>(paths).find(([name]) => name === shell)?.[1] ?? "";
      const first = await place.install([shellPath, ...words], [], { path });
      assert.deepEqual([first.code, first.stdout], [0, ""], first.stderr);
      const directory = `${place.home}/.local/bin`;
      assert.equal(
        first.stderr,
        `postern: installed postern ${version} in ${directory}\n${sumsUp}` +
          `postern: ${directory} is not in your PATH: export PATH="${directory}:$PATH"\n`,
      );
      assert.equal(((await Deno.stat(place.installed)).mode ?? 0) & 0o7777, 0o755);
      const second = await place.install([shellPath, ...words], [], { path: `${directory}:${path}` });
      assert.equal(
        second.stderr,
        `postern: installed postern ${version} in ${directory}\n${sumsUp}` +
          "postern: running instances keep the previous program until you restart them\n",
      );
      const made = [`${place.home}/.local`, directory, place.installed];
      assert.deepEqual(await place.left(), [...before, ...made].sort());
    }, linux);
  }
}

/** The behavior of gh; a test program simulates each answer, because GitHub is not reachable here. */
const attestations = [
  {
    name: "verifies",
    gh: 'echo "$@" >>"$HOME/asked"; echo "Verification succeeded!"',
    code: 0,
    says: /\npostern: gh verified that the release workflow of us\/postern built it\n/,
    asked: "auth token\nattestation verify FILE --repo us/postern " +
      "--signer-workflow us/postern/.github/workflows/release.yml\n",
  },
  {
    name: "finds none",
    gh: '[ "$1" = auth ] || { echo "Error: no attestations found for subject" >&2; exit 1; }',
    code: 1,
    says:
      /^postern: error: Cannot use \S+: gh cannot verify its attestation: Error: no attestations found for subject\npostern: hint: .*--skip-attestation\n$/,
  },
  {
    name: "finds none, and is disabled",
    gh: '[ "$1" = auth ] || exit 1',
    args: ["--skip-attestation"],
    code: 0,
    says: /not who built it\npostern: verify who built it: gh attestation verify "\S+" --repo us\/postern\n/,
  },
  {
    name: "is not signed in",
    gh: "exit 1",
    code: 0,
    says: /not who built it\npostern: verify who built it: gh attestation verify "\S+" --repo us\/postern\n/,
  },
  {
    name: "knows no project, because releases are not on GitHub",
    gh: 'echo "$@" >>"$HOME/asked"; exit 1',
    project: "https://git.example.net/us/postern",
    code: 0,
    says: /not who built it\n(?!postern: verify)/,
    asked: undefined,
  },
];
for (
  const { name, gh, args = [], project = "https://github.com/us/postern", code, says, asked } of attestations
) {
  peerTest(`install.sh installs a file of its release workflow: gh ${name}`, ["sh"], async ({ sh }) => {
    await using place = await Place.open();
    const program = `#!/bin/sh\necho postern ${version}\n`;
    await place.release.publish(x64, new TextEncoder().encode(program));
    const source = await Deno.readTextFile(script);
    const path = `${await place.tools(["gh"], () => gh)}:${Deno.env.get("PATH")}`;
    const { code: ended, stderr } = await runPeer(sh, ["-s", "--", ...args], {
      env: { HOME: place.home, PATH: path, POSTERN_RELEASES: place.release.url },
      stdin: installerOf(source, { version, project }),
    });
    assert.equal(ended, code, stderr);
    assert.match(stderr, says);
    const isThere = await Deno.stat(place.installed).then(() => true, () => false);
    assert.equal(isThere, code === 0);
    const said = await Deno.readTextFile(`${place.home}/asked`).catch(() => undefined);
    assert.equal(said?.replace(/verify \S+/, "verify FILE"), asked);
  }, linux);
}

/** Problems of a release or of the machine, with the error and the hint. */
const failures: readonly {
  readonly name: string;
  readonly args?: readonly string[];
  readonly spoil: (release: ReleaseServer) => void | Promise<void>;
  readonly error: RegExp;
  readonly hint: RegExp;
  readonly code?: number;
}[] = [
  {
    name: "the version does not exist",
    spoil: ({ files }) => files.clear(),
    error: /^Cannot fetch \S+\.sha256: .*404/,
    hint: /--version VERSION/,
  },
  {
    name: "the program is missing",
    spoil: ({ files }) => void files.delete(x64),
    error: /^Cannot fetch \S+linux-x64: .*404/,
    hint: /--version VERSION/,
  },
  {
    name: "the checksum is missing",
    spoil: ({ files }) => void files.delete(`${x64}.sha256`),
    error: /^Cannot fetch \S+\.sha256: .*404/,
    hint: /--version VERSION/,
  },
  {
    name: "the program ends early",
    spoil: ({ files }) => void files.set(x64, wholeFile(junk.subarray(0, 5000), junk.length)),
    error: /^Cannot fetch \S+linux-x64: /,
    hint: /check the connection/,
  },
  {
    name: "the program ends early, without a length",
    spoil: ({ files }) => void files.set(x64, wholeFile(junk.subarray(0, 5000), undefined)),
    error: /^Cannot use \S+: its checksum is [0-9a-f]{64} instead of [0-9a-f]{64}$/,
    hint: /try again/,
  },
  {
    name: "the connection breaks",
    spoil: ({ files }) => void files.set(x64, { torn: wholeFile(junk).subarray(0, 5000) }),
    error: /^Cannot fetch \S+linux-x64: /,
    hint: /check the connection/,
  },
  {
    name: "one byte is wrong",
    spoil: ({ files }) => void files.set(x64, wholeFile(junk.with(1234, 7))),
    error: /^Cannot use \S+: its checksum is [0-9a-f]{64} instead of [0-9a-f]{64}$/,
    hint: /it was changed/,
  },
  {
    name: "the checksum belongs to another file",
    spoil: async ({ files }) =>
      void files.set(`${x64}.sha256`, { body: `${await sumOf(junk)}  ${x64.replace("x64", "arm64")}\n` }),
    error: /^Cannot check \S+: \S+\.sha256 does not contain its checksum$/,
    hint: /open that address/,
  },
  {
    name: "the checksum is a sign-in page",
    spoil: ({ files }) => void files.set(`${x64}.sha256`, { body: `<html>${"0".repeat(64)}  ${x64}\n` }),
    error: /^Cannot check \S+: \S+\.sha256 does not contain its checksum$/,
    hint: /open that address/,
  },
  {
    name: "the checksum is empty",
    spoil: ({ files }) => void files.set(`${x64}.sha256`, { body: "" }),
    error: /^Cannot check \S+: \S+\.sha256 does not contain its checksum$/,
    hint: /open that address/,
  },
  {
    name: "the published file is not a program",
    spoil: () => {},
    error: /^Cannot run \S+: /,
    hint: /--to DIRECTORY/,
  },
  {
    name: "the published file is another program",
    spoil: (release) => release.publish(x64, new TextEncoder().encode("#!/bin/sh\necho postern 9.9.9\n")),
    error: /^Cannot use \S+: it reports "postern 9\.9\.9" instead of "postern \S+"$/,
    hint: /published release/,
  },
  {
    name: "no server listens",
    args: ["--from", "http://127.0.0.1:1/releases"],
    spoil: () => {},
    error: /^Cannot fetch http:\/\/127\.0\.0\.1:1\/releases\/v\S+\.sha256: /,
    hint: /check the connection/,
  },
  {
    name: "the address uses http",
    args: ["--from", "http://releases.example.net"],
    spoil: () => {},
    error:
      /^Cannot fetch from "http:\/\/releases\.example\.net": the address does not begin with https:\/\/$/,
    hint: /https/,
    code: 2,
  },
  {
    name: "the address only starts like one of this machine",
    args: ["--from", "http://127.0.0.1.example.net/"],
    spoil: () => {},
    error: /^Cannot fetch from "[^"]+": the address does not begin with https:\/\/$/,
    hint: /https/,
    code: 2,
  },
  {
    name: "the version contains a path",
    args: ["--version", "../../x"],
    spoil: () => {},
    error: /^Cannot install "\.\.\/\.\.\/x": not a version$/,
    hint: /0\.1\.0/,
    code: 2,
  },
  {
    name: "an unknown option",
    args: ["--force"],
    spoil: () => {},
    error: /^Cannot read the command line: unknown argument "--force"$/,
    hint: /--help/,
    code: 2,
  },
  {
    name: "an option without its value",
    args: ["--to"],
    spoil: () => {},
    error: /^Cannot read the command line: --to needs a value$/,
    hint: /--help/,
    code: 2,
  },
  {
    name: "the directory cannot be created",
    args: ["--to", "/dev/null/bin"],
    spoil: () => {},
    error: /^Cannot create "\/dev\/null\/bin": .*Not a directory$/,
    hint: /--to DIRECTORY/,
  },
];

/** A file of some size that is not a program. */
const junk = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);

for (const [shell, words] of [["sh", []], ["busybox", ["sh"]]] as const) {
  const title = `install.sh explains a failure in one sentence, and leaves nothing behind, in ${shell}`;
  peerTest(title, [shell], async (paths, t) => {
    const busybox = shell === "busybox" ? programOf(paths, shell) : undefined;
    for (const { name, args = [], spoil, error, hint, code = 1 } of failures) {
      await t.step(name, async () => {
        await using place = await Place.open();
        await place.release.publish(x64, junk);
        await spoil(place.release);
        const path = busybox === undefined ? Deno.env.get("PATH") ?? "" : await place.tools(
          [...basic, "wget", "sha256sum"].filter((name) => name !== "getconf"),
          (name) => `exec ${busybox} ${name} "$@"`,
        );
        const before = await place.left();
        const { stdout, stderr, code: ended } = await place.install(
          [programOf(paths, shell), ...words],
          args,
          {
            path,
          },
        );
        const [, sentence = "", advice = ""] =
          /^postern: error: ([^\n]+)\npostern: hint: ([^\n]+)\n$/.exec(stderr) ?? assert.fail(stderr);
        assert.match(sentence, error);
        assert.match(advice, hint);
        assert.deepEqual([ended, stdout], [code, ""]);
        assert.deepEqual(await place.left(), before);
      });
    }
  }, linux);
}

peerTest("install.sh selects the file for its system", ["sh"], async ({ sh }, t) => {
  const cases = [
    { kernel: "Linux", machine: "x86_64", file: "linux-x64" },
    { kernel: "Linux", machine: "aarch64", file: "linux-arm64" },
    { kernel: "Darwin", machine: "x86_64", file: "macos-x64" },
    { kernel: "Darwin", machine: "arm64", file: "macos-arm64" },
    { kernel: "Darwin", machine: "x86_64", translated: true, file: "macos-arm64" },
    { kernel: "Linux", machine: "aarch64", bits: 32, error: /it has 32 bits$/ },
    { kernel: "Linux", machine: "riscv64", error: /^Cannot install on riscv64: not supported$/ },
    { kernel: "FreeBSD", machine: "amd64", error: /^Cannot install on FreeBSD: not supported$/ },
    { kernel: "MINGW64_NT-10.0", machine: "x86_64", error: /^Cannot install on Windows$/ },
  ];
  for (const { kernel, machine, translated = false, bits = 64, file, error } of cases) {
    await t.step(`${kernel} ${machine}${translated ? ", translated" : ""}: ${bits} bits`, async () => {
      await using place = await Place.open();
      const tools = await place.tools(
        ["uname", "sysctl", "getconf"],
        (name) =>
          name === "uname"
            ? `[ "$1" = -s ] && echo ${kernel} || echo ${machine}`
            : `echo ${name === "getconf" ? bits : Number(translated)}`,
      );
      const { stderr } = await place.install([sh], [], { path: `${tools}:${Deno.env.get("PATH")}` });
      const [, sentence = ""] = /^postern: error: (.+)\n/.exec(stderr) ?? assert.fail(stderr);
      if (error) assert.match(sentence, error);
      const path = `/releases/v${version}/postern-${version}-${file}.sha256`;
      assert.deepEqual(place.release.asked, error ? [] : [path]);
    });
  }
});

peerTest(
  "install.sh accepts a version with or without v, and both forms of options",
  ["sh"],
  async ({ sh }) => {
    await using place = await Place.open();
    for (const args of [["--version", "v1.2.3-rc.1"], ["--version=1.2.3-rc.1"]]) {
      await place.install([sh], [...args, `--to=${place.home}/a b`]);
    }
    const path = "/releases/v1.2.3-rc.1/postern-1.2.3-rc.1-";
    assert.deepEqual(place.release.asked.map((asked) => asked.slice(0, path.length)), [path, path]);
    assert.deepEqual(await place.left(), []);
    const { code, stdout, stderr } = await place.install([sh], ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^usage: install\.sh .*\n[^]*--to DIRECTORY/);
  },
);

peerTest("install.sh leaves nothing behind after a signal", ["sh"], async ({ sh }) => {
  await using place = await Place.open();
  const { release } = place;
  await release.publish(x64, junk);
  release.files.set(x64, "silent");
  const child = new Deno.Command(sh, {
    args: [script, "--version", version],
    env: { HOME: place.home, PATH: Deno.env.get("PATH") ?? "", POSTERN_RELEASES: release.url },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await eventually("the script fetches the program", () => release.asked.length === 2);
  child.kill("SIGTERM");
  // A shell handles a signal after the program that it waits for: at a terminal, Ctrl-C ends both.
  await release[Symbol.asyncDispose]();
  assert.equal((await child.status).code, 143);
  assert.deepEqual(await place.left(), []);
});

const namespace = inNamespace("--mount");
const mounts = [
  {
    name: "is read-only",
    mount: "mount -o bind,ro",
    error: /^Cannot write to "[^"]+": .*Read-only file system$/,
  },
  { name: "is full", mount: "mount -t tmpfs -o size=64k", error: /^Cannot fetch \S+linux-x64: / },
] as const;
for (const { name, mount, error } of mounts) {
  namespaceTest(`install.sh does not change a directory that ${name}`, "--mount", async () => {
    assert.ok("wrap" in namespace);
    await using place = await Place.open();
    await place.release.publish(x64, junk);
    const to = `${place.home}/there`;
    await Deno.mkdir(to);
    await Deno.writeTextFile(`${to}/postern`, "the old program");
    const source = mount.includes("bind") ? to : "tmpfs";
    const script = mount.includes("bind")
      ? `mount --bind ${to} ${to} && mount -o remount,ro,bind ${to}`
      : `${mount} ${source} ${to}`;
    const sh = findPeer("sh");
    assert.ok("path" in sh);
    const { code, stderr } = await place.install([...namespace.wrap(script), sh.path], ["--to", to]);
    assert.equal(code, 1);
    assert.match(/^postern: error: ([^\n]+)\npostern: hint: [^\n]+\n$/.exec(stderr)?.[1] ?? stderr, error);
    assert.equal(await Deno.readTextFile(`${to}/postern`), "the old program");
    assert.deepEqual(await place.left(), [to, `${to}/postern`]);
  });
}

const upgrade = "install.sh replaces the program of a running instance, which keeps working";
if (program === undefined) skippedTest(upgrade, onlyCompiled);
else {
  peerTest(upgrade, ["sh", "bash"], async ({ sh, bash }) => {
    await using place = await Place.open();
    await using home = await Household.open();
    await place.release.publish(x64, await Deno.readFile(program));
    assert.equal((await place.install([sh])).code, 0);
    await home.configure(
      "transports: { far: { reject: nothing there } }\nroutes: [{ to: far.example, via: far }]\n",
    );
    const { env } = home.commandLine([]);
    const run = (...args: readonly string[]) => runPeer(bash, ["-c", 'exec "$@"', "bash", ...args], { env });
    const child = new Deno.Command(bash, {
      args: ["-c", 'exec "$@"', "bash", place.installed, "proxy", "--listen", "127.0.0.1:0"],
      env: { ...env },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    await using instance = new Instance(child);
    await instance.ready;
    const { ino } = await Deno.stat(place.installed);
    assert.equal((await place.install([sh])).code, 0);
    assert.notEqual((await Deno.stat(place.installed)).ino, ino);
    const status = await run(place.installed, "status", "-o", "json");
    assert.equal(status.code, 0, status.stderr);
    assert.ok(status.stdout.includes(await instance.address()), status.stdout);
    // The instance loads modules on demand from the removed file.
    const reloaded = await run(place.installed, "reload");
    assert.equal(reloaded.code, 0, reloaded.stderr);
    assert.equal((await run(place.installed, "stop")).code, 0);
    assert.equal((await instance.ended).code, 0);
  }, linux);
}

peerTest("shellcheck finds no problem in install.sh", ["shellcheck"], async ({ shellcheck }) => {
  const { code, stdout } = await runPeer(shellcheck, ["--shell=sh", script]);
  assert.deepEqual([code, stdout], [0, ""]);
});
