import assert from "node:assert/strict";
import { readCommandLine } from "../../../src/permissions/command_line.ts";
import { flagsFor } from "../../../src/permissions/flags.ts";
import {
  isConfinable,
  isControlClient,
  kindsFor,
  mayNeed,
  mayUseSsh,
  needsTable,
} from "../../../src/permissions/needs.ts";
import { starterConfig } from "../../../src/plan/mod.ts";
import { here, ofResolver } from "./here.ts";

Deno.test("isControlClient() is true for commands that cannot read above their directories", () => {
  for (const command of ["status", "stop", "reload", "logs", "cleanup"]) {
    assert.ok(isControlClient(readCommandLine([command])));
  }
  for (const command of ["proxy", "env", "explain", "version"]) {
    assert.ok(!isControlClient(readCommandLine([command])), command);
  }
});

Deno.test("kindsFor() without ssh lets login start a browser and logout nothing", () => {
  for (const command of ["update", "login"]) {
    assert.ok(kindsFor(readCommandLine([command])).includes("run"), command);
  }
  assert.ok(!kindsFor(readCommandLine(["logout"])).includes("run"));
});

for (const command of ["version", "completion", "help", "no such command"]) {
  Deno.test(`kindsFor() lets "${command}" read only the environment`, () => {
    assert.deepEqual(kindsFor(readCommandLine([command])), ["env"]);
  });
}

for (const command of ["status", "connections", "reload", "stop", "env", "pac", "config", "demo"]) {
  Deno.test(`kindsFor() does not let ${command} start programs`, () => {
    assert.ok(!kindsFor(readCommandLine([command])).includes("run"));
  });
}

Deno.test("kindsFor() lets proxy start a program only with --background", () => {
  assert.ok(kindsFor(readCommandLine(["proxy", "--background"])).includes("run"));
  assert.ok(!kindsFor(readCommandLine(["proxy", "--listen", "127.0.0.1:0"])).includes("run"));
  assert.ok(!kindsFor(readCommandLine(["proxy", "--id", "--background"])).includes("run"));
});

Deno.test("kindsFor() lets commands that connect start programs only if ssh may be used", () => {
  for (const command of ["proxy", "explain", "doctor", "config"]) {
    assert.ok(!kindsFor(readCommandLine([command])).includes("run"), command);
    assert.ok(kindsFor(readCommandLine([command]), { usesSsh: true }).includes("run"), command);
  }
  assert.ok(!kindsFor(readCommandLine(["status"]), { usesSsh: true }).includes("run"));
});

for (
  const args of [["shell", "a"], ["kubectl", "a"], ["clusters", "a", "oc"], ["clusters", "--each", "--", "a"]]
) {
  Deno.test(`kindsFor() lets "${args.join(" ")}" start programs even without ssh`, () => {
    assert.ok(kindsFor(readCommandLine(args)).includes("run"));
    assert.ok(flagsFor(readCommandLine(args), here).includes("--allow-run"));
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
    assert.equal(mayUseSsh(readCommandLine(args), text), uses);
  });
}

Deno.test("mayUseSsh() is false for the configuration of config init", () => {
  assert.match(starterConfig, /\bssh\b/);
  assert.equal(mayUseSsh(readCommandLine(["proxy"]), starterConfig), false);
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
    assert.deepEqual(mayNeed(readCommandLine(args), text, { hasCatalogue, hasResolverFiles }), needs);
  });
}

Deno.test("needsTable() lists programs and paths, but not a directory from the command line", () => {
  const facts = { ...here, shell: "/bin/zsh", askpass: "/bin/ask", agent: "/run/agent", programs: ["ours"] };
  const { ssh, plugins, resolver, runsMore } = needsTable(readCommandLine(["proxy"]), facts);
  assert.deepEqual(ssh, {
    run: ["/bin/sh", "/bin/zsh", "ssh", "/bin/ask"],
    write: ["/home/me/.ssh", "/run/agent"],
  });
  assert.ok(plugins.includes("kubelogin") && plugins.includes("ours"));
  assert.deepEqual(resolver, ofResolver.split(","));
  assert.equal(runsMore, false);
});

// Deno revokes a whole directory when a path inside it is revoked.
const staying = [
  ["--listen-unix", "/home/me/.ssh/postern"],
  ["--ready-file=/home/me/ready"],
  ["--ready-file", "ready"],
  ["--log-file=./work/../log"],
  ["--log-file", "work/../../me/log"],
];
for (const words of staying) {
  Deno.test(`needsTable() keeps ~/.ssh if the command keeps a parent directory: ${words.join(" ")}`, () => {
    const facts = { ...here, directory: () => "/home/me" };
    assert.deepEqual(needsTable(readCommandLine(["proxy", ...words]), facts).ssh.write, []);
  });
}

Deno.test("needsTable() keeps ~/.ssh if a kubeconfig is in the home directory", () => {
  const facts = { ...here, kubeconfig: "/home/me/config" };
  assert.deepEqual(needsTable(readCommandLine(["shell", "a"]), facts).ssh.write, []);
  assert.deepEqual(needsTable(readCommandLine(["proxy"]), facts).ssh.write, ["/home/me/.ssh"]);
  assert.deepEqual(needsTable(readCommandLine(["proxy", "--ready-file=/home/me/x/ready"]), facts).ssh.write, [
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
  Deno.test(`needsTable() reports that ${args.join(" ")} starts ${runsMore ? "more" : "no more"} programs`, () => {
    const table = needsTable(readCommandLine(args), here);
    assert.deepEqual([table.runsMore, table.plugins.includes("/bin/deno")], [runsMore, !runsMore]);
  });
}

const plain = "routes: [{ to: a, via: reject }]";
const confinable = [
  { args: ["proxy"], text: plain, is: true },
  { args: ["proxy", "--listen-unix", "/x/socket"], text: undefined, is: true },
  { args: ["proxy", "-L", "/x/socket:a:1"], text: undefined, is: true },
  { args: ["proxy"], text: 'listen: { forward: { "unix:/x/socket": "a:1" } }', is: false },
  { args: ["forward", "1:a:1"], text: undefined, is: false },
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
    const needs = mayNeed(readCommandLine(args), text, { hasCatalogue: false, hasResolverFiles: false });
    assert.equal(isConfinable(readCommandLine(args), needs, text), is);
  });
}
