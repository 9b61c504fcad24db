import assert from "node:assert/strict";
import { jsonAnswer, WebServer } from "../support/web_server.ts";
import { peerTest } from "../support/peers.ts";
import { runPeer } from "../support/peer_program.ts";
import { Household } from "../support/postern_process.ts";
import { type AtTerminal, atTerminal } from "../support/pseudo_terminal.ts";
import { createWorld } from "../../src/runtime/mod.ts";

/** A Lieutenant API that answers without a sign-in. */
function lieutenant() {
  const { network } = createWorld({ main: import.meta.url, flags: [] });
  const server = new WebServer(
    network.listen({ host: "127.0.0.1", port: 0 }),
    () => jsonAnswer({ apiVersion: "v0.12.2" }),
  );
  return { server, url: `http://127.0.0.1:${server.port}` };
}

/** Keeps the port of the listener out of the proposal, because other programs may use the usual one. */
const listen = "listen:\n  mixed: 127.0.0.1:0   # mine\n";

Deno.test("postern setup says when it finds nothing", async () => {
  await using home = await Household.open();
  const path = await home.configure(listen);
  const { code, stdout, stderr } = await home.run(["setup", "--yes"]);
  assert.deepEqual([code, stdout, stderr], [0, "", `postern: "${path}" is complete: found nothing new\n`]);
  assert.equal(await Deno.readTextFile(path), listen);
});

Deno.test("postern setup adds a catalogue to the configuration, once", async () => {
  await using home = await Household.open();
  const { server, url } = lieutenant();
  await using _server = server;
  const path = await home.configure(listen);
  await Deno.chmod(path, 0o640);
  const env = { COMMODORE_API_URL: url };
  const added =
    `${listen}\ncatalogues:\n  # The clusters of 127.0.0.1:${server.port}, from COMMODORE_API_URL\n` +
    `  - { lieutenant: "${url}/" }\n`;

  const shown = await home.run(["setup", "--dry-run"], { env });
  const diff = [
    `--- ${path}`,
    `+++ ${path}`,
    "@@ -1,2 +1,6 @@",
    ...listen.trimEnd().split("\n").map((line) => ` ${line}`),
    ...added.slice(listen.length).trimEnd().split("\n").map((line) => `+${line}`),
    "",
  ].join("\n");
  assert.equal(shown.stdout, diff);
  assert.equal(
    shown.stderr,
    `postern: trying 1 new line …\nok      catalogue 127.0.0.1:${server.port}: answers, without a sign-in\n` +
      `postern: nothing written\n`,
  );
  assert.equal(await Deno.readTextFile(path), listen);

  const written = await home.run(["setup", "--yes"], { env });
  assert.equal(written.stdout, diff);
  assert.match(written.stderr, new RegExp(`^postern: wrote ${path}$`, "m"));
  assert.match(written.stderr, /^postern: next: fetch the clusters of the catalogue: postern update$/m);
  assert.ok([...written.stderr.matchAll(/^postern: next: /gm)].length <= 3, written.stderr);
  assert.equal(await Deno.readTextFile(path), added);
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o640);

  const again = await home.run(["setup"], { env });
  assert.deepEqual([again.code, again.stdout], [0, ""]);
  assert.equal(again.stderr, `postern: "${path}" is complete: found nothing new\n`);
});

Deno.test("postern setup writes a new configuration with its schema", async () => {
  await using home = await Household.open();
  const { server, url } = lieutenant();
  await using _server = server;
  const path = `${home.directory}/new/work.yaml`;
  const { code, stdout, stderr } = await home.run(["--config", path, "setup", "--yes", "-o", "json"], {
    env: { LIEUTENANT_URL: url },
  });
  assert.equal(code, 0, stderr);
  const { isNew, catalogues, checks, written, next } = JSON.parse(stdout);
  assert.ok(next.includes(`fetch the clusters of the catalogue: postern --config ${path} update`), stdout);
  assert.deepEqual([isNew, catalogues[0].lieutenant, checks[0].outcome], [true, `${url}/`, "ok"]);
  assert.deepEqual(written, [path, `${home.directory}/new/postern.schema.json`]);
  assert.match(await Deno.readTextFile(path), /^# yaml-language-server: \$schema=/);
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  assert.equal(((await Deno.stat(`${home.directory}/new`)).mode ?? 0) & 0o777, 0o700);
  const check = await home.run(["--config", path, "config", "check"]);
  assert.equal(check.code, 0, check.stdout);
});

Deno.test("postern setup leaves out what does not answer, and says why", async () => {
  await using home = await Household.open();
  const path = await home.configure(listen);
  const { code, stdout, stderr } = await home.run(["setup", "--yes"], {
    env: { LIEUTENANT_URL: "http://127.0.0.1:1", http_proxy: "http://me:hunter2@127.0.0.1:1" },
  });
  assert.deepEqual([code, stdout], [0, ""]);
  assert.match(stderr, /^failed {2}catalogue 127\.0\.0\.1:1: Cannot .*refused/m);
  assert.match(
    stderr,
    /^failed {2}proxy proxy: Cannot reach the proxy "proxy" \(127\.0\.0\.1:1\): connection refused$/m,
  );
  assert.match(stderr, /nothing to add to ".*": 2 lines left out, because the check failed\n$/);
  assert.doesNotMatch(stderr, /hunter2/);
  assert.equal(await Deno.readTextFile(path), listen);
  const names = [...Deno.readDirSync(home.places.config)].map(({ name }) => name);
  assert.deepEqual(names, ["config.yaml"]);
});

Deno.test("postern setup gives the names of a cluster that does not answer to no proxy", async () => {
  await using home = await Household.open();
  const { server, url } = lieutenant();
  await using _server = server;
  await home.configure(listen);
  await Deno.mkdir(`${home.directory}/.kube`);
  const lost = { name: "lost", cluster: { server: "https://127.0.0.1:1" } };
  const context = { name: "lost", context: { cluster: "lost" } };
  const kubeconfig = { apiVersion: "v1", kind: "Config", clusters: [lost], contexts: [context] };
  await Deno.writeTextFile(`${home.directory}/.kube/config`, JSON.stringify(kubeconfig));
  const { code, stderr } = await home.run(["setup", "--yes"], {
    env: { http_proxy: url, no_proxy: "cluster.local" },
  });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^failed {2}kubernetes lost: .*refused$/m);
  const explained = async (target: string) =>
    (await home.run(["explain", target])).stdout.split("\n").slice(0, 1);
  assert.deepEqual(await explained("web.shop.svc:80"), ["web.shop.svc:80 goes to reject"]);
  assert.deepEqual(await explained("web.shop.svc.cluster.local:80"), [
    "web.shop.svc.cluster.local:80 goes to reject",
  ]);
  assert.deepEqual(await explained("web.example:80"), ["web.example:80 goes to proxy"]);
});

Deno.test("postern setup refuses a configuration with mistakes", async () => {
  await using home = await Household.open();
  await home.configure("transports: 5\n");
  const { code, stderr } = await home.run(["setup", "--yes"]);
  assert.equal(code, 4);
  assert.match(stderr, /^postern: error: Cannot use ".*config\.yaml": /);
});

peerTest("postern setup keeps a symbolic link to the configuration", ["sh"], async ({ sh }) => {
  await using home = await Household.open();
  const { server, url } = lieutenant();
  await using _server = server;
  const path = await home.configure(listen);
  await Deno.rename(path, `${home.places.config}/real.yaml`);
  await runPeer(sh, ["-c", `ln -s real.yaml '${path}'`]);
  const { code, stderr } = await home.run(["setup", "--yes"], { env: { LIEUTENANT_URL: url } });
  assert.equal(code, 0, stderr);
  assert.ok((await Deno.lstat(path)).isSymlink);
  assert.match(await Deno.readTextFile(`${home.places.config}/real.yaml`), /lieutenant/);
});

const answers: { readonly press: string; readonly code: number; readonly isWritten: boolean }[] = [
  { press: "y\r", code: 0, isWritten: true },
  { press: "\r", code: 1, isWritten: false },
];
for (const { press, code, isWritten } of answers) {
  peerTest(
    `postern setup at a terminal writes after a yes: ${JSON.stringify(press)}`,
    ["python"],
    async ({ python }) => {
      await using home = await Household.open();
      const { server, url } = lieutenant();
      await using _server = server;
      const path = await home.configure(listen);
      const { command, env } = home.commandLine(["setup"], { env: { LIEUTENANT_URL: url, TERM: "xterm" } });
      const steps: AtTerminal[] = [{ until: "[y/N] ", press }];
      const session = await atTerminal(python, command, { steps, env });
      assert.equal(session.code, code, session.screen);
      assert.match(session.screen, /\+catalogues:[^]*Write .*config\.yaml\? \[y\/N\] /);
      assert.equal((await Deno.readTextFile(path)) !== listen, isWritten);
    },
  );
}
