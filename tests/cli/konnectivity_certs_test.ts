import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

peerTest(
  "postern konnectivity certs writes and renews certificates that openssl verifies",
  ["openssl"],
  async ({ openssl }) => {
    await using home = await Household.open();
    const directory = `${home.directory}/certs`;
    const run = (...more: string[]) => home.run(["konnectivity", "certs", directory, ...more]);
    const made = await run("--san=konn.example.net", "--san", "10.1.2.3", "--days", "30");
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /frontend\/issued\/ca\.crt until \d{4}-\d\d-\d\d\n/);
    assert.equal(made.stdout.trim().split("\n").length, 6);

    const verify = async (side: string, name: string, ...more: readonly string[]) => {
      const [ca, leaf] = [`${directory}/${side}/issued/ca.crt`, `${directory}/${side}/issued/${name}.crt`];
      const args = ["verify", "-x509_strict", "-CAfile", ca, ...more, leaf];
      const { code, stdout, stderr } = await runPeer(openssl, args);
      return code === 0 ? "" : stdout + stderr;
    };
    const server = ["-purpose", "sslserver"], client = ["-purpose", "sslclient"];
    for (const name of ["kubernetes", "localhost", "konn.example.net"]) {
      assert.equal(await verify("frontend", "proxy-frontend", ...server, "-verify_hostname", name), "");
    }
    assert.equal(await verify("agent", "proxy-frontend", ...server, "-verify_ip", "10.1.2.3"), "");
    assert.equal(await verify("frontend", "proxy-client", ...client), "");
    assert.equal(await verify("agent", "proxy-agent", ...client), "");
    assert.match(
      await verify("agent", "proxy-frontend", ...server, "-verify_hostname", "x.example"),
      /hostname/i,
    );
    assert.match(await verify("frontend", "proxy-client", ...server), /purpose/);

    const text = async (name: string) =>
      (await runPeer(openssl, ["x509", "-noout", "-text", "-in", `${directory}/${name}`])).stdout;
    assert.match(await text("frontend/issued/ca.crt"), /CA:TRUE[^]*Certificate Sign, CRL Sign/);
    assert.match(await text("agent/issued/proxy-agent.crt"), /CA:FALSE[^]*TLS Web Client Authentication/);
    for (const side of ["frontend", "agent"]) {
      for await (const { name } of Deno.readDir(`${directory}/${side}/private`)) {
        const path = `${directory}/${side}/private/${name}`;
        assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
        assert.equal((await runPeer(openssl, ["pkey", "-noout", "-check", "-in", path])).code, 0);
      }
    }

    const again = await run();
    assert.equal(again.code, 4, again.stderr);
    assert.match(again.stderr, /already exists\n.*--renew/);
    assert.deepEqual(await run("--renew").then(({ code, stdout }) => ({ code, stdout })), {
      code: 0,
      stdout: "",
    });
    const renewed = await run("--renew", "--all", "--days=90");
    assert.equal(renewed.stdout.trim().split("\n").length, 4);
    assert.equal(
      await verify("frontend", "proxy-frontend", ...server, "-verify_hostname", "konn.example.net"),
      "",
    );
    const [, month] = /Not After : (.*)/.exec(await text("agent/issued/proxy-agent.crt")) ?? [];
    assert.ok(Date.parse(month ?? "") > Date.now() + 80 * 24 * 3600 * 1000, month);
  },
);

Deno.test("postern konnectivity certs reports invalid options", async () => {
  await using home = await Household.open();
  const cases: [args: readonly string[], says: RegExp, code: number][] = [
    [["--san=a b"], /Cannot write "a b" into a certificate/, 2],
    [["--all"], /Cannot use --all without --renew/, 2],
    [["--days=0"], /0/, 2],
    [["--renew"], /Cannot read/, 4],
  ];
  for (const [args, says, code] of cases) {
    const ended = await home.run(["konnectivity", "certs", `${home.directory}/certs`, ...args]);
    assert.match(ended.stderr, says);
    assert.equal(ended.code, code, ended.stderr);
  }
});
