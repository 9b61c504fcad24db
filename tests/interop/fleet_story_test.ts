import assert from "node:assert/strict";
import { Dex, signedInBy } from "../support/dex.ts";
import { Lieutenant, type SynCluster } from "../support/lieutenant.ts";
import { downloaded, LongDownload } from "../support/long_download.ts";
import { isLongRun } from "../support/long_runs.ts";
import { inNamespace } from "../support/namespaces.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { throughSocks5 } from "../support/raw_client.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers, underHosts } from "../support/sshd.ts";
import { TargetServer } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";

// The test's certificate contains names of this form.
const prod = "c-prod01.apps.example.net";
const fresh = "c-fresh02.example.net";

/** An address without a listener: the answer for names that must not be resolved at that place. */
const nowhere = "127.0.0.9";

/**
 * Only the last host of the chain resolves `prod`, and only the first host resolves `fresh`. All other
 * resolvers return an address without a listener.
 */
const hosts = {
  here: { [prod]: nowhere, [fresh]: nowhere },
  one: { [prod]: nowhere, [fresh]: "127.0.0.1" },
  two: { [prod]: nowhere, [fresh]: nowhere },
  three: { [prod]: "127.0.0.1", [fresh]: nowhere },
};

const name = "the story of a fleet: from nothing to kubectl through three jump hosts, and without Lieutenant";
const namespace = inNamespace("--mount");
if ("missing" in namespace) skippedTest(name, namespace.missing);
else {
  const peers = ["dex", "kubernetes", "lieutenant", "kubectl", "bash", ...sshPeers] as const;
  peerTest(name, peers, async ({ kubectl, ...paths }, t) => {
    await using lab = await SshLab.create(paths);
    const one = await lab.start("one", { hosts: hosts.one });
    const two = await lab.start("two", { hosts: hosts.two });
    const three = await lab.start("three", { hosts: hosts.three });
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("jump1", one),
        ...sshHostLines("jump2", two, "ProxyJump jump1"),
        ...sshHostLines("jump3", three, "ProxyCommand ssh -W %h:%p jump2"),
      ],
      postern: [],
    });
    await using dex = await Dex.start(paths.dex, home.directory);
    const { issuer, discoveryUrl } = dex;
    await using lieutenant = await Lieutenant.start({
      ...paths,
      clusters: (kubernetes) => [prodCluster(kubernetes)],
      oidc: { issuer, clientId: "lieutenant", discoveryUrl },
    });
    await Deno.writeTextFile(`${home.directory}/ca.crt`, testTls.ca);
    const config = [
      `ssh: { config: "${lab.directory}/ssh_config" }`,
      "catalogues:",
      `  - { lieutenant: "${lieutenant.url.origin}", ca: "${home.directory}/ca.crt", authInfoFact: login }`,
    ].join("\n");
    await home.configure(config);
    const under = await underHosts(`${lab.directory}/here.hosts`, hosts.here);
    const env = { PATH: `${kubectl.replace(/\/[^/]*$/, "")}:/usr/bin:/bin`, POSTERN_BROWSER: "true" };
    const namespaces = async () => {
      const command = ["clusters", "prod01", "kubectl", "get", "ns", "-o", "name"];
      const { code, stdout, stderr } = await home.run(command, { env, under });
      assert.deepEqual([code, stderr], [0, ""], stdout);
      assert.match(stdout, /^namespace\/default$/m);
    };

    await t.step("an instance without any configuration ends immediately, and suggests a fix", async () => {
      const { code, stdout, stderr } = await home.run(["proxy", "--listen", "127.0.0.1:0"]);
      assert.deepEqual([code, stdout], [4, ""], stderr);
      assert.match(stderr, /postern: hint: .*postern update/);
    });
    await t.step("update signs in and stores", async () => {
      using _turn = await signInTurn();
      const { code, stdout, stderr } = await signedInBy(home.start(["update"], { env }), "alice@example.com");
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^catalogue main: 1 cluster, 1 route, 0 exclusions \(https:/);
    });

    // From here on, postern rejects targets without a route, so that nothing works by accident.
    await home.configure(`${config}\ndefault: reject\n`);
    await using instance = await home.instance([], { under });
    await t.step("kubectl in the cluster, through three jump hosts", async () => {
      await namespaces();
      for (const server of [one, two, three]) await server.untilSignIns(1);
      await instance.says(new RegExp(`conn\\.done .*target=${prod}:\\d+ .*transport=jump3 .*outcome=done`));
    });
    await t.step(
      "update during a long download: the download continues, and the new route works",
      async () => {
        await using download = new LongDownload(isLongRun() ? 2000 : 200);
        await using greeter = new TargetServer((client) => client.send("hello"));
        const address = await instance.address();
        using client = await throughSocks5(address, { host: prod, port: download.server.port });
        const reading = downloaded(client);
        // An earlier failure is the relevant one.
        reading.catch(() => {});
        await download.half;
        const target = { host: fresh, port: greeter.port };
        await assert.rejects(throughSocks5(address, target), /SOCKS5 reply 2/);
        await lieutenant.add({
          id: "c-fresh02",
          tenant: "t-a",
          displayName: "Fresh",
          facts: { jumphost: "jump1", jumphostDomains: fresh },
        });
        const { code, stdout, stderr } = await home.run(["update"]);
        assert.deepEqual([code, stderr], [0, 'postern: reloaded instance "default"\n'], stdout);
        const updated = performance.now();
        using fromNew = await throughSocks5(address, target);
        assert.equal(await fromNew.restText(), "hello");
        if (isLongRun()) assert.ok(performance.now() - updated < 1000, "within a second");
        download.sendRest();
        assert.deepEqual(await reading, download.sent);
      },
    );
    await lieutenant.stop();
    await dex[Symbol.asyncDispose]();
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0, instance.stderr);
    await t.step("without Lieutenant and dex, in a restarted instance: everything works", async () => {
      await using again = await home.instance([], { under });
      await namespaces();
      for (const server of [one, two, three]) await server.untilSignIns(2);
      const listed = await home.run(["clusters", "-o", "json"]);
      assert.deepEqual(
        JSON.parse(listed.stdout).clusters.map(({ id }: { id: string }) => id),
        ["c-fresh02", "c-prod01"],
      );
      assert.equal((await home.run(["update"])).code, 6);
      await namespaces();
      again.kill("SIGTERM");
      assert.equal((await again.ended).code, 0, again.stderr);
    });
  });
}

/** A cluster whose API server is reachable only from the last jump host. */
function prodCluster(kubernetes: string): SynCluster {
  return {
    id: "c-prod01",
    tenant: "t-a",
    displayName: "Production",
    facts: { jumphost: "jump3", login: JSON.stringify({ token: Lieutenant.tokens.alice }) },
    dynamicFacts: {
      talosBaseDomain: prod,
      talosApiURL: `https://${prod}:${kubernetes.split(":")[1]}`,
      talosAPICertificateAuthorityData: btoa(testTls.ca),
    },
  };
}
