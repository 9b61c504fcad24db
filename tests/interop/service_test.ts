import assert from "node:assert/strict";
import { launchdPlists } from "../../src/service/launchd_plist.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { OidcServer } from "../support/oidc_server.ts";
import { freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { latin1, throughSocks5 } from "../support/raw_client.ts";
import { echoServer } from "../support/target_server.ts";

const linux = { platforms: ["linux"] as const };

/** A household with a systemctl that logs its arguments. */
async function household(
  port: number,
): Promise<{ home: Household; env: Record<string, string>; log: string }> {
  const home = await Household.open();
  await home.configure(
    `listen: { mixed: 127.0.0.1:${port} }\nroutes: [{ to: 127.0.0.1, via: direct }]\ndefault: direct\n`,
  );
  const bin = `${home.directory}/bin`;
  const log = `${home.directory}/systemctl.log`;
  await Deno.mkdir(bin);
  await Deno.writeTextFile(`${bin}/systemctl`, `#!/bin/sh\necho "$@" >>'${log}'\n`, { mode: 0o755 });
  return { home, env: { PATH: `${bin}:/usr/bin:/bin` }, log };
}

/** The words of a unit's ExecStart, by the rules of systemd.service(5) that postern uses. */
function execStart(unit: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? assert.fail("no ExecStart");
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) =>
    (quoted ?? plain ?? "").replace(/\\(.)/g, "$1").replaceAll("%%", "%").replaceAll("$$", "$")
  );
}

peerTest(
  "service-install writes valid systemd units, and their service serves the socket",
  ["systemd_analyze", "systemd_socket_activate"],
  async ({ systemd_analyze: analyze, systemd_socket_activate: activate }) => {
    const port = freePort();
    const { home, env: plain, log } = await household(port);
    await using _home = home;
    const env = { ...plain, KUBECONFIG: "my kube/50%:/k" };
    const asked = await home.run(["service-install"], { env });
    assert.equal(asked.code, 2, asked.stderr);
    assert.match(asked.stderr, /Cannot ask for confirmation: no terminal\n.*--yes/);
    const done = await home.run(["service-install", "--yes"], { env });
    assert.equal(done.code, 0, done.stderr);
    const kubeconfigs = `${home.directory}/my kube/50%:/k`;
    assert.ok(
      done.stderr.startsWith(
        `postern: note: the service always uses the current KUBECONFIG: ${kubeconfigs};`,
      ),
    );
    const units = `${home.directory}/config/systemd/user`;
    for (const name of ["service", "socket"]) {
      assert.match(done.stderr, new RegExp(`^postern: wrote ${units}/postern\\.${name}$`, "m"));
      const verified = await runPeer(analyze, ["--user", "verify", `${units}/postern.${name}`], {
        env: { XDG_RUNTIME_DIR: `${home.directory}/run`, HOME: home.directory },
      });
      assert.deepEqual([verified.code, verified.stderr], [0, ""]);
    }
    assert.deepEqual(
      (await Deno.readTextFile(log)).trimEnd().split("\n").at(-1),
      "--user restart postern.socket",
    );

    const socket = await Deno.readTextFile(`${units}/postern.socket`);
    assert.match(socket, new RegExp(`^ListenStream=127\\.0\\.0\\.1:${port}$`, "m"));
    await using target = echoServer();
    const own = home.commandLine([]).env;
    const child = new Deno.Command(activate, {
      args: [
        ...["-l", `127.0.0.1:${port}`, `--fdname=${/^FileDescriptorName=(.*)$/m.exec(socket)?.[1]}`],
        ...Object.keys(own).flatMap((name) => ["-E", name]),
        ...execStart(await Deno.readTextFile(`${units}/postern.service`)),
      ],
      env: { ...own },
      clearEnv: true,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const said = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("Listening on")) text += (await said.read()).value ?? assert.fail(text);
    using client = await throughSocks5(`127.0.0.1:${port}`, { host: "127.0.0.1", port: target.port });
    await client.send("hello");
    assert.deepEqual(await client.take(5), latin1("hello"));
    client.close();
    child.kill("SIGTERM");
    assert.equal((await child.status).code, 0);
    await Promise.all([said.cancel(), child.stdout.cancel()]);
  },
  linux,
);

peerTest(
  "service-install --always and its timer are valid systemd units; service-uninstall removes all",
  ["systemd_analyze"],
  async ({ systemd_analyze: analyze }) => {
    const { home, env } = await household(freePort());
    await using _home = home;
    const units = `${home.directory}/config/systemd/user`;
    const done = await home.run(["service", "install", "--always", "--update-timer", "--yes"], { env });
    assert.equal(done.code, 0, done.stderr);
    const names = [...Deno.readDirSync(units)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["postern-update.service", "postern-update.timer", "postern.service"]);
    const verified = await runPeer(
      analyze,
      ["--user", "verify", ...names.map((name) => `${units}/${name}`)],
      {
        env: { XDG_RUNTIME_DIR: `${home.directory}/run`, HOME: home.directory },
      },
    );
    assert.deepEqual([verified.code, verified.stderr], [0, ""]);
    const status = await home.run(["service", "status", "-o", "json"], { env });
    assert.equal(status.code, 0, status.stderr);
    assert.equal(JSON.parse(status.stdout).length, 3);
    const gone = await home.run(["service-uninstall", "--yes"], { env });
    assert.equal(gone.code, 0, gone.stderr);
    assert.deepEqual([...Deno.readDirSync(units)], []);
    assert.equal((await home.run(["service", "status"], { env })).code, 3);
  },
  linux,
);

peerTest(
  "the timer's update fails at once without a valid sign-in and does not prompt",
  [],
  async () => {
    const { home, env } = await household(freePort());
    await using _home = home;
    const provider = new OidcServer(createNetwork().listen({ host: "127.0.0.1", port: 0 }), {
      clock: systemClock,
    });
    await using _provider = provider;
    const mark = `${home.directory}/opened`;
    await Deno.writeTextFile(`${home.directory}/bin/browser`, `#!/bin/sh\necho "$@" >'${mark}'\n`, {
      mode: 0o755,
    });
    const { discoveryUrl } = provider;
    await home.configure(
      `catalogues: [{ lieutenant: "http://127.0.0.1:1", oidc: { clientId: lieutenant, discoveryUrl: "${discoveryUrl}" } }]\n`,
    );
    const done = await home.run(["service", "install", "--update-timer", "--yes"], { env });
    assert.equal(done.code, 0, done.stderr);
    const unit = await Deno.readTextFile(`${home.directory}/config/systemd/user/postern-update.service`);
    // Only postern's arguments: how it starts from source depends on each command's permissions.
    const words = execStart(unit);
    const args = words.slice(words.lastIndexOf("update"));
    assert.deepEqual(args, ["update", "--if-older-than=12h", "--no-sign-in"]);
    assert.doesNotMatch(unit, /BROWSER/);
    // Even if the user's environment names a browser.
    const browser = `${home.directory}/bin/browser`;
    const { code, stderr } = await home.run(args, { env: { POSTERN_BROWSER: browser } });
    assert.equal(code, 5, stderr);
    assert.match(stderr, /Cannot sign in at \S+: the sign-in needs a user at a terminal\n/);
    assert.deepEqual(provider.authorizations, []);
    await assert.rejects(Deno.stat(mark), Deno.errors.NotFound);
  },
  linux,
);

Deno.test("service-install --print changes nothing; without routes it reports what is missing", async () => {
  await using home = await Household.open();
  const printed = await home.run(["install", "--print", "--on-demand"]);
  if (Deno.build.os === "windows") return assert.equal(printed.code, 1);
  assert.equal(printed.code, 0, printed.stderr);
  assert.match(printed.stdout, /postern proxy|proxy/);
  await assert.rejects(Deno.stat(`${home.directory}/config/systemd`), Deno.errors.NotFound);
  const refused = await home.run(["service-install"]);
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /nothing would be routed/);
});

/** Prints a plist as JSON. */
const parser = "import json,plistlib,sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";

peerTest(
  "the launchd agents are valid plists for any characters in paths",
  ["python"],
  async ({ python }) => {
    const path = `/Users/me & <you>/50% "it"/config.yaml`;
    for (const isAlways of [true, false]) {
      const files = launchdPlists("/Users/me", {
        isAlways,
        self: ["/opt/postern"],
        serviceArguments: ["proxy", `--config=${path}`],
        updateArguments: ["update"],
        hasTimer: true,
        addresses: ["127.0.0.1:12000", "[::1]:12000"],
        drain: 30_000,
      });
      const parsed: unknown[] = [];
      for (const { content } of files) {
        const { code, stdout, stderr } = await runPeer(python, ["-c", parser], { stdin: content });
        assert.equal(code, 0, stderr);
        parsed.push(JSON.parse(stdout));
      }
      const log = "/Users/me/Library/Logs/local.postern.proxy.log";
      assert.deepEqual(parsed[0], {
        Label: "local.postern.proxy",
        ProgramArguments: [
          "/opt/postern",
          "proxy",
          `--config=${path}`,
          ...(isAlways ? [] : [`--log-file=${log}`]),
        ],
        LimitLoadToSessionType: "Aqua",
        ProcessType: "Interactive",
        ExitTimeOut: 45,
        SoftResourceLimits: { NumberOfFiles: 65536 },
        ...(isAlways
          ? {
            RunAtLoad: true,
            KeepAlive: true,
            ThrottleInterval: 10,
            StandardOutPath: log,
            StandardErrorPath: log,
          }
          : {
            inetdCompatibility: { Wait: true },
            Sockets: {
              proxy: {
                SockType: "stream",
                SockFamily: "IPv4",
                SockNodeName: "127.0.0.1",
                SockServiceName: "12000",
              },
            },
          }),
      });
      assert.equal((parsed[1] as { Label: string }).Label, "local.postern.update");
    }
  },
);

/** Starts a program like launchd's inetd mode: the listening socket is its standard input and outputs. */
const inetd = `
import os, socket, sys
listening = socket.socket()
listening.bind(("127.0.0.1", int(sys.argv[1])))
listening.listen()
for number in (0, 1, 2):
    os.dup2(listening.fileno(), number)
os.execvp(sys.argv[2], sys.argv[2:])
`;

peerTest(
  "an instance serves a socket on standard input, as launchd passes it",
  ["python"],
  async ({ python }) => {
    const port = freePort();
    const { home } = await household(port);
    await using _home = home;
    await using target = echoServer();
    const log = `${home.directory}/postern.log`;
    const ready = `${home.directory}/ready`;
    await using instance = home.start(
      ["proxy", "--on-demand", "launchd=proxy", "--log-file", log, "--ready-file", ready, "--idle-exit", "0"],
      { under: [python, "-c", inetd, `${port}`] },
    );
    let client;
    for (let tries = 0; client === undefined; tries++) {
      client = await throughSocks5(`127.0.0.1:${port}`, { host: "127.0.0.1", port: target.port }).catch(
        (error) => {
          if (tries > 500) throw error;
        },
      );
      if (client === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await client.send("hello");
    assert.deepEqual(await client.take(5), latin1("hello"));
    client.close();
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0, await Deno.readTextFile(log));
  },
  linux,
);
