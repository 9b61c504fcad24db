import assert from "node:assert/strict";
import { HttpClient } from "../../src/http/mod.ts";
import type { Dialer } from "../../src/world/mod.ts";
import { formatTarget } from "../../src/words/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock as clock } from "../../src/runtime/system_clock.ts";
import { companyCluster } from "../support/company.ts";
import { FakeLieutenant } from "../support/fake_lieutenant.ts";
import { farSide } from "../support/far_side.ts";
import { inNamespace } from "../support/namespaces.ts";
import { OidcServer } from "../support/oidc_server.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";

const api = "api.apps.example.net";
const login = "login.apps.example.net";
const env = { POSTERN_BROWSER: "true" };
const { signal } = new AbortController();

const name =
  "postern update reaches the API through a jump host and the provider through a proxy, with names known only there";
const namespace = inNamespace("--mount");
if ("missing" in namespace) skippedTest(name, namespace.missing);
else {
  peerTest(name, sshPeers, async (paths, t) => {
    const network = createNetwork();
    const listen = network.listen.bind(network);
    const free = { host: "127.0.0.1", port: 0 };
    await using oidc = new OidcServer(listen(free), { issuer: `https://${login}/oidc`, clock });
    await using lieutenant = new FakeLieutenant({ listen }, { discoveryUrl: oidc.discoveryUrl });
    lieutenant.clusters = [companyCluster("c-a", "jump1")];
    await using apiFront = tlsFront(new URL(lieutenant.url).host, testTls.server);
    await using loginFront = tlsFront(`127.0.0.1:${oidc.port}`, testTls.server);
    await using proxy = farSide({ [`${login}:443`]: loginFront.address });
    await using lab = await SshLab.create(paths);
    const jump = await lab.start("one", { hosts: { [api]: "127.0.0.1" } });
    await using home = await openSshHousehold(lab, { ssh: sshHostLines("jump1", jump), postern: [] });
    const ca = `${home.directory}/ca.crt`;
    const other = `${home.directory}/other.crt`;
    await Deno.writeTextFile(ca, testTls.ca);
    await Deno.writeTextFile(other, testTls.client.cert);
    const configure = (of: string) =>
      home.configure([
        `ssh: { config: "${lab.directory}/ssh_config" }`,
        `transports: { jump1: { ssh: jump1 }, corp: { proxy: { url: "socks5://${proxy.address}" } } }`,
        `catalogues: [{ lieutenant: "https://${api}:${apiFront.port}", ca: "${ca}", ${of} }]`,
        "",
      ].join("\n"));
    /** The user's browser, which reaches the provider by another path. */
    const dial: Dialer = (target, options) =>
      network.connect(
        formatTarget(target) === `${login}:443` ? { host: "127.0.0.1", port: loginFront.port } : target,
        options,
      );
    const browser = new HttpClient({ clock, network, dial }, { ca: testTls.ca });

    await t.step("without a transport the API is not found", async () => {
      await configure("oidc: { via: corp }");
      const { code, stderr } = await home.run(["update"], { env });
      assert.equal(code, 6, stderr);
      assert.match(stderr, /Cannot resolve "api\.apps\.example\.net"/);
    });
    await t.step("the provider has its own transport and CA", async () => {
      await configure(`via: jump1, oidc: { via: corp, ca: "${other}" }`);
      const { code, stderr } = await home.run(["update"], { env });
      assert.notEqual(code, 0);
      assert.match(stderr, /Cannot trust "login\.apps\.example\.net"/);
    });
    await t.step("with both the user signs in", async () => {
      using _turn = await signInTurn();
      await configure("via: jump1, oidc: { via: corp }");
      const update = home.start(["update"], { env });
      const [, address = ""] = await update.says(/open this address:\n(\S+)\n/);
      const sent = await browser.ask({ url: new URL(address) }, { signal });
      await browser.ask({ url: new URL(sent.fields.get("location") ?? "") }, { signal });
      const { code, stdout, stderr } = await update.ended;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^catalogue main: 1 cluster, 1 route, /);
    });
    await t.step("sign-out uses the same transports", async () => {
      assert.equal(oidc.refreshTokens.size, 1);
      assert.equal((await home.run(["logout"])).code, 0);
      assert.equal(oidc.refreshTokens.size, 0);
    });
    await t.step("an unknown transport is a configuration error", async () => {
      await configure("via: jump1, oidc: { via: crop }");
      const { code, stdout } = await home.run(["config", "check"]);
      assert.equal(code, 4);
      assert.match(
        stdout,
        /catalogues\[0\]\.oidc\.via: names the unknown transport "crop", did you mean "corp"/,
      );
    });
  });
}
