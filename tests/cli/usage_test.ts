import assert from "node:assert/strict";
import settings from "../../deno.json" with { type: "json" };
import { Household } from "../support/postern_process.ts";

interface Transcript {
  readonly args: readonly string[];
  readonly code: number;
  readonly out?: RegExp;
  readonly err?: RegExp;
}

/** Exactly one error that contains this sentence, and one hint. */
function alone(sentence: RegExp): RegExp {
  return new RegExp(`^postern: error: .*${sentence.source}.*\npostern: hint: .*\n$`, sentence.flags);
}

const transcripts: readonly Transcript[] = [
  { args: ["--version"], code: 0, out: new RegExp(`^postern ${settings.version}\n$`) },
  { args: ["version"], code: 0, out: new RegExp(`^postern ${settings.version}\n$`) },
  { args: ["-v", "--version"], code: 0, out: new RegExp(`^postern ${settings.version}\n$`) },
  { args: ["version", "-o", "json"], code: 0, out: new RegExp(`"version": "${settings.version}"`) },
  {
    args: ["help"],
    code: 0,
    out:
      /^postern: one local door into every private cluster\n[^]*\n {2}proxy +Run an instance, the local proxy\n/,
  },
  { args: ["--help"], code: 0, out: /^postern: one local door into every private cluster\n/ },
  { args: ["help", "proxy"], code: 0, out: /^Run an instance, the local proxy\.\n/ },
  { args: ["proxy", "--help"], code: 0, out: /^Run an instance[^]*--ready-file PATH/ },
  {
    args: ["help", "compat"],
    code: 0,
    out: /^ {2}quit\n {6}Stop all running instances\n {6}Same as: postern stop --all\n/m,
  },
  { args: ["help", "config", "check"], code: 0, out: /^Usage: postern config check/ },
  {
    args: [],
    code: 2,
    err: /Usage: postern [^]*postern: error: Cannot run postern: missing argument: COMMAND/,
  },
  { args: ["--config"], code: 2, err: alone(/Cannot run "postern": --config requires FILE/) },
  { args: ["-v", "--log-level"], code: 2, err: alone(/Cannot run "postern": --log-level requires LEVEL/) },
  {
    args: ["--nonsense"],
    code: 2,
    err: /^Usage: postern [^]*Cannot run "postern": unexpected option or argument: "--nonsense"/,
  },
  {
    args: ["porxy"],
    code: 2,
    err: /^Usage: postern [^]*error: Cannot run "porxy"[^]*hint: did you mean postern proxy\?/,
  },
  {
    args: ["--nonsense", "status"],
    code: 2,
    err: /^Usage: postern status [^]*unexpected option or argument: "--nonsense"/,
  },
  {
    args: ["proxy", "--listn", "x"],
    code: 2,
    err: /^Usage: postern proxy [^]*hint: did you mean --listen\?/,
  },
  { args: ["proxy", "--listen"], code: 2, err: alone(/--listen requires ADDR:PORT/) },
  { args: ["proxy", "--listen", "nonsense:port"], code: 2, err: alone(/Cannot listen on "nonsense:port"/) },
  { args: ["demo", "--listen", "nonsense:port"], code: 2, err: alone(/Cannot listen on "nonsense:port"/) },
  {
    args: ["proxy", "--route", "nonsense"],
    code: 2,
    err: alone(/Cannot read "nonsense" as PATTERN=TRANSPORT/),
  },
  { args: ["proxy", "--id", "../up", "--route", "any=direct"], code: 2, err: alone(/Cannot use "\.\.\/up"/) },
  { args: ["proxy", "--idle-exit", "soon"], code: 2, err: alone(/"soon" is not a duration/) },
  { args: ["--log-level", "loud", "proxy"], code: 2, err: alone(/--log-level must be debug, info/) },
  { args: ["completion", "ksh"], code: 2, err: alone(/SHELL must be bash, zsh/) },
  {
    args: ["exec-credential", "--server", "http://api.example.net:6443"],
    code: 2,
    err:
      /^postern: error: Cannot sign in: .*\npostern: hint: use the form https:\/\/HOST:PORT, without a user/,
  },
  { args: ["explain", "no port:x"], code: 2, err: /Cannot read "no port:x" as HOST:PORT/ },
  {
    args: ["explain", "http://me:s3cret@db.example.net/"],
    code: 2,
    err: alone(/Cannot read "http:\/\/me:\*\*\*@db\.example\.net\/" as HOST:PORT/),
  },
  {
    args: ["status"],
    code: 3,
    err: /error: Cannot show the status: no instance is running\npostern: hint: start one: postern proxy\n/,
  },
  { args: ["status", "--id", "other"], code: 3, err: /"other"/ },
  { args: ["connections"], code: 3, err: /it is not running/ },
  { args: ["connections", "close", "1"], code: 3, err: /it is not running/ },
  { args: ["reload"], code: 3, err: /it is not running/ },
  { args: ["stop"], code: 3, err: /it is not running/ },
  { args: ["stop", "--all"], code: 3, err: /none is running/ },
  {
    args: ["logs"],
    code: 3,
    err: Deno.build.os === "linux"
      ? /Cannot print the log of "default": ".*" does not exist\n.*systemd unit, run: journalctl --user -u postern\.service\n$/
      : /Cannot print the log of "default": ".*" does not exist/,
  },
  { args: ["doctor", "--url", "notaurl"], code: 2, err: alone(/Cannot fetch "notaurl"/) },
  {
    args: ["doctor", "--url", "ftp://me:s3cret@x"],
    code: 2,
    err: alone(/Cannot fetch "ftp:\/\/(?!.*s3cret)/),
  },
  {
    args: ["clusters"],
    code: 4,
    err: /no catalogue is stored\npostern: hint: fetch the catalogue: postern update\n/,
  },
  {
    args: ["update"],
    code: 4,
    err: /Cannot find a catalogue: none is configured\npostern: hint: /,
  },
  { args: ["login"], code: 4, err: /Cannot find a catalogue/ },
  { args: ["logout"], code: 4, err: /Cannot find a catalogue/ },
  { args: ["update", "--import-kharon"], code: 4, err: /contains no files of kharon/ },
  { args: ["update", "--import-kharon", "--device"], code: 2, err: alone(/Cannot use --device together/) },
  {
    args: ["egress"],
    code: 2,
    err:
      /postern: error: Cannot run "postern egress": missing argument: check, no-proxy, render or controller/,
  },
  {
    args: ["egress", "check", "proxy.yaml", "--timeout", "5s"],
    code: 2,
    err: /Cannot use --timeout without --live/,
  },
  {
    args: ["egress", "no-proxy", "--list", ".svc", "--exclude", ".svc"],
    code: 2,
    err: /Cannot use --exclude: --list is already complete/,
  },
  {
    args: ["egress", "no-proxy", "--region", "us-west-2"],
    code: 2,
    err: /Cannot use --region: it requires --platform AWS/,
  },
  {
    args: ["egress", "render", "objects.yaml", "--proxy", "proxy.yaml", "--context", "lab"],
    code: 2,
    err: /Cannot read the proxy from a cluster and from a file at once/,
  },
  {
    args: ["egress", "render", "objects.yaml", "--ca", "ca.pem"],
    code: 2,
    err: /Cannot use --ca with a cluster's proxy/,
  },
  {
    args: ["egress", "render", "objects.yaml", "--proxy", "proxy.yaml", "--part", "environment"],
    code: 2,
    err: /Cannot use --part with FILE/,
  },
  {
    args: ["egress", "controller", "--context", "lab"],
    code: 2,
    err: /Cannot use --context without --kubeconfig/,
  },
  {
    args: ["egress", "controller", "--system-trust", "omit"],
    code: 4,
    err:
      /Cannot choose a cluster: this process does not run in a pod\npostern: hint: name a kubeconfig: --kubeconfig FILE/,
  },
];

for (const { args, code, out = /^$/, err = /^$/ } of transcripts) {
  Deno.test(`postern ${args.join(" ")}`, async () => {
    await using home = await Household.open();
    const ended = await home.run(args);
    assert.match(ended.stderr, err);
    assert.match(ended.stdout, out);
    assert.equal(ended.code, code);
  });
}

const homeless = [
  { args: ["proxy", "--listen", "127.0.0.1:0"], code: 4 },
  { args: ["explain", "db.example.net:5432"], code: 4 },
  { args: ["config", "check"], code: 4 },
  { args: ["shell", "c-lab"], code: 125 },
  { args: ["kubectl", "c-lab", "get", "pods"], code: 125 },
];

for (const { args, code } of homeless) {
  Deno.test(`postern ${args.join(" ")} reports that HOME is missing`, async () => {
    await using home = await Household.open();
    const ended = await home.run(args, { env: { HOME: "" } });
    assert.equal(
      ended.stderr,
      "postern: error: Cannot determine the directories for files: HOME is not set\n" +
        "postern: hint: set HOME to your home directory\n",
    );
    assert.equal(ended.code, code);
  });
}

Deno.test({
  name: "an empty POSTERN_CONFIG revokes no permission that the default configuration needs",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using home = await Household.open();
    await home.configure(
      "transports: { jump: { ssh: jump1 } }\nssh: { hosts: { jump1: { engine: openssh } } }\ndefault: jump\n",
    );
    const bin = `${home.directory}/bin`;
    await Deno.mkdir(bin);
    const script = "#!/bin/sh\necho the host is down >&2\nexit 255\n";
    await Deno.writeTextFile(`${bin}/ssh`, script, { mode: 0o700 });
    const env = { POSTERN_CONFIG: "", PATH: `${bin}:${Deno.env.get("PATH")}` };
    const { stdout } = await home.run(["explain", "db.example.net:5432", "--dial"], { env });
    assert.match(stdout, /failed: Cannot reach ssh jump1: the host is down/);
  },
});

Deno.test("an instance prints its log before the error that ends it", async () => {
  await using home = await Household.open();
  const { code, stderr } = await home.run([
    ...["proxy", "--listen", "127.0.0.1:0", "--route", "x.example=direct"],
    ...["--ready-file", home.directory],
  ]);
  assert.match(stderr, /^\S+ INFO +listener\.ready .*\npostern: error: Cannot write ".*": is a directory\n/);
  assert.equal(code, 4);
});
