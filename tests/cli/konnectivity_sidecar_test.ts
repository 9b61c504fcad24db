import assert from "node:assert/strict";
import { KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { RawClient, socks5Asking, throughSocks5 } from "../support/raw_client.ts";
import { TargetServer } from "../support/target_server.ts";

/** A sidecar that lets the agent resolve names, with a server and an agent in this process. */
async function sidecar(
  lab: KonnectivityLab,
  { home, held, more = [] }: { home: Household; held: AsyncDisposableStack; more?: readonly string[] },
): Promise<Instance> {
  const server = held.use(new OurServer(lab, { mode: "grpc", isSocket: false }));
  held.use(new OurAgent(lab, server));
  await eventually("an agent has joined", () => server.known.isReady);
  assert.ok("port" in server.front);
  const { cert, key } = lab.pair("frontend", "client");
  const instance = home.start([
    ...["konnectivity", "socks5", "--konnectivity-hostname=127.0.0.1", "--mode=grpc", "--serving-port=0"],
    ...[
      `--konnectivity-port=${server.front.port}`,
      "--disable-resolver",
      `--ca-cert-path=${lab.ca("frontend")}`,
    ],
    ...[`--tls-cert-path=${cert}`, `--tls-key-path=${key}`, ...more],
  ]);
  await Promise.race([instance.ready, instance.ended.then(({ stderr }) => assert.fail(stderr))]);
  return instance;
}

peerTest(
  "a sidecar keeps half-closes and early bytes, and drains at the first signal",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    await using held = new AsyncDisposableStack();
    // Answers with the received text after the client's half-close.
    await using target = new TargetServer(async (client) => client.send(`heard ${await client.restText()}`));
    const instance = await sidecar(lab, { home, held });
    const address = await instance.address();
    const where = { host: "127.0.0.1", port: target.port };

    using early = await RawClient.connect(address);
    await early.send(new Uint8Array([...socks5Asking(where), ...new TextEncoder().encode("early")]));
    await early.end();
    await early.take(12);
    assert.equal(await early.restText(), "heard early");

    using live = await throughSocks5(address, where);
    await live.send("one ");
    await eventually("the target has it", () => target.open === 1);
    instance.kill("SIGTERM");
    await instance.says(/instance\.draining/);
    await assert.rejects(
      async () => (await RawClient.connect(address)).close(),
      Deno.errors.ConnectionRefused,
    );
    await live.send("two");
    await live.end();
    assert.equal(await live.restText(), "heard one two");
    assert.equal((await instance.ended).code, 0);
  },
);

peerTest(
  "a sidecar closes the remaining connections at the second signal",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    await using held = new AsyncDisposableStack();
    await using target = new TargetServer(async (client) => void await client.rest());
    const instance = await sidecar(lab, { home, held });
    using live = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
    instance.kill("SIGTERM");
    await instance.says(/instance\.draining/);
    instance.kill("SIGTERM");
    assert.equal((await live.rest()).length, 0);
    assert.equal((await instance.ended).code, 0);
  },
);

peerTest(
  "a sidecar listens openly with --allow-open or a password, and has a separate port for probes",
  [...konnectivityPeers, "curl"],
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    await using held = new AsyncDisposableStack();
    const page = await lab.page();
    const health = freePort();
    const password = `${home.directory}/password`;
    await Deno.writeTextFile(password, "open sesame\n", { mode: 0o600 });
    const instance = await sidecar(lab, {
      home,
      held,
      more: [
        ...["--bind-address=0.0.0.0", "--auth-user=me", `--auth-password-file=${password}`],
        ...[`--health-port=${health}`, "--health-bind-address=127.0.0.1"],
      ],
    });
    const [first = ""] = await instance.ready;
    const at = first.replace("0.0.0.0", "127.0.0.1");
    const fetched = (user: readonly string[]) =>
      runPeer(paths.curl, [
        "-sS",
        "--noproxy",
        "",
        "--socks5-hostname",
        at,
        ...user,
        `http://127.0.0.1:${page}/success`,
      ]);
    assert.match((await fetched(["--proxy-user", "me:open sesame"])).stdout, /success test page/);
    assert.equal((await fetched(["--proxy-user", "me:wrong"])).stdout, "");
    assert.equal((await fetched([])).stdout, "");
    for (
      const [path, says] of [["healthz", /^ok/], ["readyz?verbose", /\[\+\]serving ok/], [
        "metrics",
        /postern_/,
      ]] as const
    ) {
      const answer = await fetch(`http://127.0.0.1:${health}/${path}`);
      assert.match(await answer.text(), says);
      assert.equal(answer.status, 200);
    }
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0);

    const open = await sidecar(lab, { home, held, more: ["--allow-open"] });
    assert.match((await open.ready)[0] ?? "", /^0\.0\.0\.0:/);
    await open.says(/instance\.open/);
  },
);

Deno.test("postern konnectivity socks5 and https report missing options", async () => {
  await using home = await Household.open();
  const kubeconfig = { KUBECONFIG: "/nowhere/kubeconfig" };
  const cases: [args: readonly string[], env: Record<string, string>, says: RegExp, code: number][] = [
    [["socks5"], {}, /KUBECONFIG is empty/, 4],
    [["https"], { KUBECONFIG: ":" }, /KUBECONFIG is empty/, 4],
    [["socks5", "--bind-address=0.0.0.0"], kubeconfig, /Cannot listen on 0\.0\.0\.0 without a password/, 2],
    [["https", "--bind-address", "fd00::1"], kubeconfig, /without a password/, 2],
    [["socks5", "--bind-address=pod"], kubeconfig, /not an IP address/, 2],
    [["socks5", "--auth-user=me"], kubeconfig, /must be given together/, 2],
    [["https", "--https-proxy=ftp://squid"], kubeconfig, /Cannot use --https-proxy/, 2],
    [["socks5", "--prefer-ipv4=perhaps"], kubeconfig, /neither true nor false/, 2],
    [["socks5", "--https-proxy=http://squid:1"], kubeconfig, /unexpected|--https-proxy/i, 2],
  ];
  for (const [args, env, says, code] of cases) {
    const { code: ended, stderr } = await home.run(["konnectivity", ...args], { env });
    assert.match(stderr, says);
    assert.equal(ended, code, stderr);
  }
});
