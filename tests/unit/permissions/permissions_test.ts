import assert from "node:assert/strict";
import {
  commandGrants,
  commandOf,
  compiledFlags,
  configNamed,
  flagsFor,
  isConfinable,
  isControlClient,
  isDependedOn,
  kindsFor,
  mayNeed,
  mayUseSsh,
  needsTable,
  permissionKinds,
  sourceFacts,
  wantsTraces,
  workerPermissions,
} from "../../../src/permissions/permissions.ts";
import { splitFlags } from "../../../scripts/postern.ts";
import { starterConfig } from "../../../src/plan/mod.ts";

const allowAll = ["--allow", "all"].join("-");

const directories = {
  config: "/c/postern",
  state: "/s/postern",
  cache: "/k/postern",
  runtime: "/r/postern",
  home: "/home/me",
};
const here = { directories, self: "/bin/deno", platform: "linux" };

const commandLines = [
  { args: [], command: "help" },
  { args: ["--help"], command: "help" },
  { args: ["--version"], command: "version" },
  { args: ["proxy", "--version"], command: "proxy" },
  { args: ["--config", "status", "proxy"], command: "proxy" },
  { args: ["--config=status", "proxy"], command: "proxy" },
  { args: ["-v", "-v", "explain", "stop"], command: "explain" },
  { args: ["--log-level", "debug", "stop"], command: "stop" },
  { args: ["porxy"], command: "help" },
  { args: ["clusters", "c-a"], command: "clusters" },
  { args: ["--config", "x", "clusters", "c-a", "kubectl", "get", "ns"], command: "shell" },
  { args: ["clusters", "--each", "--", "true"], command: "shell" },
  { args: ["constructor"], command: "help" },
  { args: ["mapping.json"], command: "proxy" },
];

for (const { args, command } of commandLines) {
  Deno.test(`commandOf() finds ${command} in "${args.join(" ")}"`, () => {
    assert.equal(commandOf(args), command);
  });
}

Deno.test("flagsFor() narrows paths to the platform's directories", () => {
  const flags = flagsFor(["status"], here);
  assert.ok(flags.includes("--allow-read=/c/postern,/s/postern,/r/postern"), flags.join(" "));
  assert.ok(flags.includes("--allow-write=/s/postern,/r/postern"), flags.join(" "));
  assert.ok(!flags.some((flag) => /allow-(net|run)/.test(flag)), flags.join(" "));
});

Deno.test("flagsFor() lets a client look where an earlier postern had its sockets, and write there where it is ours", () => {
  for (const isOurs of [true, false]) {
    const flags = flagsFor(["status"], { ...here, former: { path: "/tmp/postern-7", isOurs } });
    assert.ok(
      flags.includes("--allow-read=/c/postern,/s/postern,/r/postern,/tmp/postern-7"),
      flags.join(" "),
    );
    const written = `--allow-write=/s/postern,/r/postern${isOurs ? ",/tmp/postern-7" : ""}`;
    assert.ok(flags.includes(written), flags.join(" "));
  }
  const flags = flagsFor(["version"], { ...here, former: { path: "/tmp/postern-7", isOurs: true } });
  assert.ok(!flags.join(" ").includes("/tmp/"), flags.join(" "));
});

Deno.test("isControlClient() is what may not look above its own directories", () => {
  for (const command of ["status", "stop", "reload", "logs", "cleanup"]) {
    assert.ok(isControlClient([command]));
  }
  for (const command of ["proxy", "env", "explain", "version"]) {
    assert.ok(!isControlClient([command]), command);
  }
});

Deno.test("flagsFor() lets certificates be written where they shall be, and nowhere else", () => {
  const args = ["konnectivity", "certs", "--san", "a.example", "--days=3", "/x/certs", "--renew"];
  const flags = flagsFor(args, here);
  assert.ok(flags.includes("--allow-write=/r/postern,/x/certs"), flags.join(" "));
});

Deno.test("flagsFor() lets a client speak to the doors that run and to nothing else", () => {
  const flags = flagsFor(["status"], { ...here, sockets: ["/r/postern/a.sock", "/r/postern/b.sock"] });
  assert.ok(flags.includes("--allow-net=unix:/r/postern/a.sock,unix:/r/postern/b.sock"), flags.join(" "));
});

for (const command of ["status", "stop", "demo", "version"]) {
  Deno.test(`flagsFor() names the variables that ${command} may read`, () => {
    const flags = flagsFor([command], here);
    assert.ok(flags.some((flag) => flag.startsWith("--allow-env=HOME,")), flags.join(" "));
  });
}

Deno.test("flagsFor() lets a door start itself, and what ssh configurations and kubeconfigs may name", () => {
  const run = (more: Partial<Record<"shell" | "askpass", string>>) =>
    flagsFor(["proxy"], { ...here, ...more }).find((flag) => flag.startsWith("--allow-run=")) ?? "";
  assert.match(run({}), /=\/bin\/deno,\/bin\/sh,ssh,kubectl,kubelogin,/);
  assert.match(
    run({ shell: "/bin/zsh", askpass: "/bin/ask" }),
    /=\/bin\/deno,\/bin\/sh,\/bin\/zsh,ssh,\/bin\/ask,kubectl,/,
  );
});

const browsers = [
  { browser: undefined, platform: "linux", program: "xdg-open" },
  { browser: undefined, platform: "darwin", program: "open" },
  { browser: "firefox --private-window %s", platform: "linux", program: "firefox" },
  { browser: "'/opt/my browser/b' %s", platform: "linux", program: "/opt/my browser/b" },
];
for (const { browser, platform, program } of browsers) {
  Deno.test(`flagsFor() lets a sign-in start ${program} where ${browser ?? "nothing"} is named on ${platform}`, () => {
    const flags = flagsFor(["login"], { ...here, platform, browser });
    assert.ok(flags.includes(`--allow-run=${program},/bin/sh,ssh`), flags.join(" "));
  });
}

Deno.test("isDependedOn() is so for every spelling of a door, and for what runs behind one", () => {
  const lines = ["proxy", "proxy-out", "mapping.json", "konnectivity server", "clusters a shell", "oc a get"];
  for (const line of lines) assert.ok(isDependedOn(line.split(" ")), line);
  for (const line of ["status", "stop proxy", "--version", "update"]) {
    assert.ok(!isDependedOn(line.split(" ")), line);
  }
});

Deno.test("kindsFor() leaves a sign-in its browser where no ssh is used, and a sign-out nothing to run", () => {
  for (const command of ["update", "login"]) assert.ok(kindsFor([command]).includes("run"), command);
  assert.ok(!kindsFor(["logout"]).includes("run"));
});

/** What a door puts right that was killed while the system was told to ask it. */
const ofResolver = "/etc/systemd/resolved.conf.d,/etc/systemd/dns-delegate.d,/etc/resolver";

Deno.test("flagsFor() gives dns, cleanup and a door the files of the system's resolver, below POSTERN_ROOT", () => {
  for (const command of ["dns", "cleanup", "proxy"]) {
    const flags = flagsFor([command], { ...here, system: "/image" }).join(" ");
    assert.match(flags, /--allow-write=\S*,\/image\/etc\/systemd\/resolved\.conf\.d,/);
  }
  assert.deepEqual(kindsFor(["cleanup"]).includes("run"), true);
});

Deno.test("flagsFor() lets a door speak to the ssh agent of its environment", () => {
  const flags = flagsFor(["proxy"], { ...here, agent: "/run/agent" });
  const written = `/s/postern,/k/postern,/r/postern,/home/me/.ssh,/run/agent,${ofResolver}`;
  assert.ok(flags.includes(`--allow-write=${written}`), flags.join(" "));
});

Deno.test("flagsFor() adds the directories of the files that the person wants made", () => {
  const flags = flagsFor([
    "proxy",
    "--listen-unix",
    "/x/door.sock",
    "--ready-file=/y,z/ready",
    "--log-file",
    "l",
  ], here);
  assert.ok(
    flags.includes(`--allow-write=/s/postern,/k/postern,/r/postern,/home/me/.ssh,${ofResolver},/x,/y,,z,.`),
    flags.join(" "),
  );
});

Deno.test("flagsFor() lets config init write where --config says, and no other command", () => {
  const written = (args: string[]) => flagsFor(args, here).find((flag) => flag.startsWith("--allow-write"));
  assert.equal(
    written(["config", "init", "--config", "/x/a.yaml"]),
    "--allow-write=/c/postern,/s/postern,/k/postern,/r/postern,/x",
  );
  assert.equal(written(["status", "--config", "/x/a.yaml"]), "--allow-write=/s/postern,/r/postern");
});

Deno.test("flagsFor() reaches the control port on Windows, where there is no socket file", () => {
  assert.ok(flagsFor(["status"], { ...here, platform: "windows" }).includes("--allow-net=127.0.0.1"));
  assert.ok(kindsFor(["status"], { platform: "windows" }).includes("net"));
  assert.ok(!kindsFor(["version"], { platform: "windows" }).includes("net"));
});

for (const command of ["version", "completion", "help", "no such command"]) {
  Deno.test(`kindsFor() leaves "${command}" nothing but the environment`, () => {
    assert.deepEqual(kindsFor([command]), ["env"]);
  });
}

for (const command of ["status", "connections", "reload", "stop", "env", "pac", "config", "demo"]) {
  Deno.test(`kindsFor() lets ${command} start no program`, () => {
    assert.ok(!kindsFor([command]).includes("run"));
  });
}

Deno.test("flagsFor() lets logs start the reader of the journal and nothing else", () => {
  assert.ok(kindsFor(["logs"]).includes("run"));
  assert.ok(flagsFor(["logs"], here).includes("--allow-run=journalctl"));
});

Deno.test("kindsFor() lets a door start itself in the background, and in the foreground nothing", () => {
  assert.ok(kindsFor(["proxy", "--background"]).includes("run"));
  assert.ok(!kindsFor(["proxy", "--listen", "127.0.0.1:0"]).includes("run"));
});

Deno.test("kindsFor() lets commands that walk the way start programs only where ssh may be used", () => {
  for (const command of ["proxy", "explain", "doctor", "config"]) {
    assert.ok(!kindsFor([command]).includes("run"), command);
    assert.ok(kindsFor([command], { usesSsh: true }).includes("run"), command);
  }
  assert.ok(!kindsFor(["status"], { usesSsh: true }).includes("run"));
});

for (
  const args of [["shell", "a"], ["kubectl", "a"], ["clusters", "a", "oc"], ["clusters", "a", "console"]]
) {
  Deno.test(`kindsFor() lets "${args.join(" ")}" start programs without ssh too`, () => {
    assert.ok(kindsFor(args).includes("run"));
    assert.ok(flagsFor(args, here).includes("--allow-run"));
  });
}

Deno.test("flagsFor() lets kubeconfig write where kubectl does", () => {
  const flags = flagsFor(["kubeconfig", "--merge"], { ...here, kubeconfig: "/x/config:/y/other" });
  assert.ok(
    flags.includes("--allow-write=/s/postern,/k/postern,/r/postern,/home/me/.kube,/x,/y"),
    flags.join(" "),
  );
});

for (const args of [["emergency-credentials", "a"], ["clusters", "a", "emergency-credentials"]]) {
  Deno.test(`flagsFor() lets "${args.join(" ")}" ask anybody, and write where it is told`, () => {
    const flags = flagsFor([...args, "--file", "/x/em.yaml"], here);
    assert.ok(flags.includes("--allow-net"));
    const writes = flags.find((flag) => flag.startsWith("--allow-write="))?.split("=")[1]?.split(",");
    assert.ok(writes?.includes("/x") && writes.includes("/home/me/.kube") && !writes.includes("/c/postern"));
    assert.ok(!flags.includes("--allow-run"));
  });
}

const sshCases = [
  { args: ["proxy"], text: "transports: { a: { ssh: jump } }", uses: true },
  { args: ["proxy"], text: "transports: { a: { proxy: { url: http://p } } }", uses: false },
  { args: ["proxy"], text: "transports: { sshd: { reject: x } }", uses: false },
  { args: ["proxy"], text: undefined, uses: false },
  { args: ["proxy", "--route", "x.example=ssh:jump1"], text: undefined, uses: true },
  { args: ["proxy-out", "--listen-socks", "127.0.0.1:0"], text: undefined, uses: true },
  { args: ["proxy"], text: "catalogues: [{ lieutenant: https://api.example }]", uses: true },
];
for (const { args, text, uses } of sshCases) {
  Deno.test(`mayUseSsh() is ${uses} for ${args.join(" ")} with ${text}`, () => {
    assert.equal(mayUseSsh(args, text), uses);
  });
}

Deno.test("mayUseSsh() is false for what config init writes", () => {
  assert.match(starterConfig, /\bssh\b/);
  assert.equal(mayUseSsh(["proxy"], starterConfig), false);
});

const none = { ssh: false, plugins: [], resolver: false };
const all = { ssh: true, plugins: "any", resolver: true };
const needCases = [
  { args: ["proxy"], text: undefined, needs: none },
  { args: ["proxy"], text: starterConfig, needs: none },
  { args: ["proxy"], text: "transports: { a: { ssh: jump } }", needs: { ...all, resolver: false } },
  { args: ["proxy"], text: "listen: { dns: 127.0.0.1:53 }", needs: { ...none, resolver: true } },
  { args: ["proxy", "--listen-dns=127.0.0.1:53"], text: undefined, needs: { ...none, resolver: true } },
  { args: ["proxy"], text: undefined, hasResolverFiles: true, needs: { ...none, resolver: true } },
  { args: ["proxy"], text: undefined, hasCatalogue: true, needs: { ...all, resolver: false } },
  { args: ["proxy-out"], text: undefined, needs: { ...all, resolver: false } },
  { args: ["explain", "a"], text: undefined, needs: { ...none, resolver: true } },
  { args: ["dns", "--apply"], text: undefined, needs: { ...none, resolver: true } },
];
for (const { args, text, hasCatalogue = false, hasResolverFiles = false, needs } of needCases) {
  const found = [
    hasCatalogue ? "a catalogue" : "",
    hasResolverFiles ? "files of the resolver" : "",
    text ?? "no text",
  ];
  Deno.test(`mayNeed() of ${args.join(" ")} with ${found.filter(Boolean).join(", ")}`, () => {
    assert.deepEqual(mayNeed(args, text, { hasCatalogue, hasResolverFiles }), needs);
  });
}

Deno.test("needsTable() names programs and places, and not a directory that the command line names", () => {
  const facts = { ...here, shell: "/bin/zsh", askpass: "/bin/ask", agent: "/run/agent", programs: ["ours"] };
  const { ssh, plugins, resolver, runsMore } = needsTable(["proxy"], facts);
  assert.deepEqual(ssh, {
    run: ["/bin/sh", "/bin/zsh", "ssh", "/bin/ask"],
    write: ["/home/me/.ssh", "/run/agent"],
  });
  assert.ok(plugins.includes("kubelogin") && plugins.includes("ours"));
  assert.deepEqual(resolver, ofResolver.split(","));
  assert.equal(runsMore, false);
});

// Deno takes away a directory as a whole when something in it is to go.
const staying = [
  ["--listen-unix", "/home/me/.ssh/door"],
  ["--ready-file=/home/me/ready"],
  ["--ready-file", "ready"],
  ["--log-file=./work/../log"],
  ["--log-file", "work/../../me/log"],
];
for (const words of staying) {
  Deno.test(`needsTable() keeps ~/.ssh where a place around it stays: ${words.join(" ")}`, () => {
    const facts = { ...here, directory: () => "/home/me" };
    assert.deepEqual(needsTable(["proxy", ...words], facts).ssh.write, []);
  });
}

Deno.test("needsTable() keeps ~/.ssh where a kubeconfig is in the home directory", () => {
  const facts = { ...here, kubeconfig: "/home/me/config" };
  assert.deepEqual(needsTable(["shell", "a"], facts).ssh.write, []);
  assert.deepEqual(needsTable(["proxy"], facts).ssh.write, ["/home/me/.ssh"]);
  assert.deepEqual(needsTable(["proxy", "--ready-file=/home/me/x/ready"], facts).ssh.write, [
    "/home/me/.ssh",
  ]);
});

const startsMore = [
  { args: ["proxy", "--background"], runsMore: true },
  { args: ["connect", "--socks"], runsMore: true },
  { args: ["login"], runsMore: true },
  { args: ["kubectl", "a"], runsMore: true },
  { args: ["explain", "a"], runsMore: false },
];
for (const { args, runsMore } of startsMore) {
  Deno.test(`needsTable() says that ${args.join(" ")} starts ${runsMore ? "more" : "no more"} programs`, () => {
    const table = needsTable(args, here);
    assert.deepEqual([table.runsMore, table.plugins.includes("/bin/deno")], [runsMore, !runsMore]);
  });
}

const plain = "routes: [{ to: a, via: reject }]";
const confinable = [
  { args: ["proxy"], text: plain, is: true },
  { args: ["proxy", "--listen-unix", "/x/socket"], text: undefined, is: true },
  { args: ["proxy"], text: "# unix: /x/socket\nlisten: { mixed: 127.0.0.1:1 }", is: true },
  { args: ["proxy"], text: "listen: { unix: /x/socket }", is: false },
  { args: ["proxy"], text: 'listen: { "unix" : /x/socket }', is: false },
  { args: ["proxy", "--background"], text: plain, is: false },
  { args: ["proxy"], text: "transports: { a: { ssh: b } }", is: false },
  { args: ["proxy-out"], text: plain, is: false },
  { args: ["connect", "--socks"], text: plain, is: false },
  { args: ["status"], text: plain, is: false },
  { args: ["explain", "a"], text: plain, is: false },
];
for (const { args, text, is } of confinable) {
  Deno.test(`isConfinable() is ${is} for ${args.join(" ")} with ${text}`, () => {
    const needs = mayNeed(args, text, { hasCatalogue: false, hasResolverFiles: false });
    assert.equal(isConfinable(args, needs, text), is);
  });
}

Deno.test("workerPermissions() are those from source, without programs and what is not needed", () => {
  const args = ["proxy", "--ready-file", "/x/ready"];
  const own = ["/s/postern", "/k/postern", "/r/postern"];
  const of = (resolver: boolean) =>
    workerPermissions(args, { ...here, agent: "/run/agent" }, { ssh: false, plugins: [], resolver });
  const sys = ["uid", "gid", "username", "homedir", "hostname", "networkInterfaces"];
  const rest = { net: true, read: true, env: true, run: false, sys };
  assert.deepEqual(of(false), { ...rest, write: [...own, "/x"] });
  assert.deepEqual(of(true), { ...rest, write: [...own, ...ofResolver.split(","), "/x"] });
});

Deno.test("flagsFor() lets commands start what a person allows, as far as they start programs", () => {
  const facts = sourceFacts(here, (name) => name === "POSTERN_ALLOW_RUN" ? "ours,/opt/theirs" : undefined);
  assert.match(flagsFor(["proxy"], facts).join(" "), /--allow-run=\S*,exo,ours,\/opt\/theirs(?: |$)/);
  assert.ok(!flagsFor(["status"], facts).some((flag) => flag.startsWith("--allow-run")));
});

const fronts = [
  { words: ["proxy", "--allow-run=a"], programs: [], args: ["proxy", "--allow-run=a"] },
  { words: ["--allow-run=a,b", "--allow-run=/c", "proxy"], programs: ["a", "b", "/c"], args: ["proxy"] },
  { words: ["--allow-run=a"], programs: ["a"], args: [] },
  { words: [], programs: [], args: [] },
];
for (const { words, ...split } of fronts) {
  Deno.test(`splitFlags() of "${words.join(" ")}"`, () => {
    assert.deepEqual(splitFlags(words), split);
  });
}

Deno.test("configNamed() finds the file in both spellings", () => {
  assert.equal(configNamed(["proxy", "--config", "a.yaml"]), "a.yaml");
  assert.equal(configNamed(["--config=a=b.yaml", "proxy"]), "a=b.yaml");
  assert.equal(configNamed(["proxy"]), undefined);
});

Deno.test("compiledFlags() covers every command and never everything", () => {
  const flags = compiledFlags();
  for (const kind of permissionKinds) {
    const isUsed = Object.values(commandGrants).some((grants) => grants[kind] !== undefined);
    assert.equal(flags.some((flag) => flag.startsWith(`--allow-${kind}`)), isUsed, kind);
  }
  assert.ok(flags.some((flag) => /^--allow-sys=uid\b/.test(flag)), flags.join(" "));
  assert.ok(!flags.some((flag) => /^--allow-(ffi|import|all)\b/.test(flag)), flags.join(" "));
});

Deno.test("no file of the project allows everything", async () => {
  const found: string[] = [];
  for await (const path of textFiles(new URL("../../../", import.meta.url))) {
    if ((await Deno.readTextFile(path)).includes(allowAll)) found.push(path.pathname);
  }
  assert.deepEqual(found, []);
});

async function* textFiles(directory: URL): AsyncGenerator<URL> {
  for await (const entry of Deno.readDir(directory)) {
    if ([".git", "dist", "node_modules"].includes(entry.name)) continue;
    const path = new URL(encodeURIComponent(entry.name) + (entry.isDirectory ? "/" : ""), directory);
    if (entry.isDirectory) yield* textFiles(path);
    else if (entry.isFile) yield path;
  }
}

const traced: readonly (readonly [args: string, wants: boolean])[] = [
  ["--log-level debug status", true],
  ["status --log-level=debug", true],
  ["status --log-level info", false],
  ["status", false],
  ["--log-level debug kubectl lab get pods", true],
  ["kubectl lab get pods --log-level debug", false],
  ["clusters lab kubectl get --log-level=debug", false],
  ["clusters --each -- tool --log-level debug", false],
  ["--log-level=debug clusters lab shell", true],
];

for (const [args, wants] of traced) {
  Deno.test(`wantsTraces() ${wants ? "hears" : "leaves to others"}: ${args}`, () => {
    assert.equal(wantsTraces(args.split(" ")), wants);
  });
}
