import assert from "node:assert/strict";
import { dig } from "../support/dig.ts";
import { farSide } from "../support/far_side.ts";
import { inNamespace } from "../support/namespaces.ts";
import { eventually, PeerServer, runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { throughSocks5 } from "../support/raw_client.ts";

// Loopback addresses for names: two servers with the same port at once, reached by programs that know no
// proxy. Linux has all of 127.0.0.0/8; other systems need an alias for each address.

interface Options {
  readonly redis: string;
  readonly dns?: string;
  /** A command prefix for the instance. */
  readonly under?: readonly string[];
}

/** Two servers behind a proxy, and an instance that gives their names loopback addresses. */
async function twoServers({ redis, dns = "127.0.0.1:0", under = [] }: Options) {
  await using stack = new AsyncDisposableStack();
  const home = stack.use(await Household.open());
  const server = async () =>
    stack.use(
      await PeerServer.start(redis, (port) => [
        ...["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", home.directory],
      ]),
    );
  const [one, two] = [await server(), await server()];
  // A port that no wildcard listener of this machine holds.
  const { port } = one;
  const far = stack.use(farSide({
    [`db.one.example:${port}`]: `127.0.0.1:${one.port}`,
    [`db.two.example:${port}`]: `127.0.0.1:${two.port}`,
  }));
  const config = (range = "127.64.0.0/12", more = "") => `
listen: { mixed: "127.0.0.1:0", dns: "${dns}", admin: "127.0.0.1:0" }
transports: { up: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: [one.example, two.example, "odd.example:${port}"], via: up }]
direct: [own.one.example]
dns: { ${range === "" ? "" : `loopback: ${range}, `}ports: [${port}${more}] }
`;
  await home.configure(config());
  const instance = home.start(["proxy", "--log-level", "debug"], { under });
  const address = (await instance.ready).find((one) => one.startsWith("dns:")) ??
    assert.fail(instance.stderr);
  const parts = { home, instance, config, port, dns: Number(address.split(":").at(-1)) };
  const owned = stack.move();
  return { ...parts, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

function addressIn({ answers }: { readonly answers: readonly string[] }): string {
  return / 5 IN A (127\.[0-9.]+)$/.exec(answers[0] ?? "")?.[1] ?? assert.fail(answers.join());
}

async function stop(instance: Instance): Promise<void> {
  instance.kill("SIGTERM");
  const { code, stderr } = await instance.ended;
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /error:|level=error/, stderr);
}

const name = "redis-cli reaches two servers with the same port at the loopback addresses of their names";
if (Deno.build.os !== "linux") skippedTest(name, "only on linux");
else {
  peerTest(name, ["dig", "redis_server", "redis_cli"], async (peers, t) => {
    await using two = await twoServers({ redis: peers.redis_server });
    const { home, instance, config, port, dns } = two;
    const ask = (...args: string[]) => dig(peers.dig, dns, ...args);
    const addresses = new Map<string, string>();
    const cli = async (host: string, ...args: string[]) => {
      const { code, stdout, stderr } = await runPeer(peers.redis_cli, ["-h", host, "-p", `${port}`, ...args]);
      assert.equal(code, 0, stderr + instance.stderr);
      return stdout.trim();
    };
    await t.step("each name gets its own address", async () => {
      for (const server of ["db.one.example", "db.two.example"]) {
        addresses.set(server, addressIn(await ask(server)));
        assert.deepEqual((await ask(server, "AAAA")).answers, []);
        assert.equal((await ask(server, "AAAA")).status, "NOERROR");
        assert.equal(addressIn(await ask(server)), addresses.get(server));
      }
      assert.equal(new Set(addresses.values()).size, 2);
    });
    const [one = "", other = ""] = addresses.values();
    await t.step("each address leads to its own server", async () => {
      assert.equal(await cli(one, "set", "who", "one"), "OK");
      assert.equal(await cli(other, "set", "who", "two"), "OK");
      assert.deepEqual([await cli(one, "get", "who"), await cli(other, "get", "who")], ["one", "two"]);
      await instance.says(/conn\.done .*protocol=forward.*target=db\.one\.example:/);
    });
    await t.step("an address goes back to its name, over SOCKS and in explain", async () => {
      using client = await throughSocks5(await instance.address(), { host: other, port });
      await client.send("GET who\r\n");
      assert.equal(await client.takeUntil("two\r\n"), "$3\r\ntwo\r\n");
      const { stdout } = await home.run(["explain", `${one}:${port}`]);
      assert.match(stdout, /db\.one\.example/);
      assert.ok(stdout.includes(`loopback postern listens on ${one}:${port} for this target`), stdout);
      assert.doesNotMatch((await home.run(["explain", "x.one.example:1"])).stdout, /loopback/);
      const reverse = (await ask("-x", one)).answers.join();
      assert.match(reverse, /PTR db\.one\.example\.$/);
    });
    await t.step("a name with a direct route is not captured", async () => {
      assert.equal((await ask("own.one.example")).status, "REFUSED");
    });
    await t.step("status counts the listeners", async () => {
      const [status] = JSON.parse((await home.run(["status", "-o", "json"])).stdout);
      const admin = status.listeners.find(({ kind }: { kind: string }) => kind === "admin").address;
      const metrics = await (await fetch(`http://${admin}/metrics`)).text();
      assert.match(metrics, /^postern_dns_loopback_names 2$/m);
      assert.match(metrics, /^postern_dns_loopback_listeners 2$/m);
      assert.deepEqual(status.dns.loopback, {
        range: "127.64.0.0/12",
        names: 2,
        listeners: 2,
      });
      assert.match((await home.run(["status"])).stdout, /loopback +127\.64\.0\.0\/12: 2 names on 2 ports/);
    });
    await t.step(
      "hosts prints the names, and the instance listens for them until others are printed",
      async () => {
        const block = (lines: readonly string[]) =>
          ["# BEGIN postern hosts default", ...lines, "# END postern hosts default", ""].join("\n");
        const line = (address: string, server: string) => `${address} ${server} # ${port}`;
        const known = [line(one, "db.one.example"), line(other, "db.two.example")];
        const all = await home.run(["hosts"]);
        // The rule for one host has an address too, the first time.
        const odd = / odd\.example #/.test(all.stdout)
          ? all.stdout.split("\n").filter((one) => / odd\./.test(one))
          : [];
        assert.equal(odd.length, 1, all.stdout);
        assert.equal(all.stdout, block([...known, ...odd]));
        assert.equal((await home.run(["hosts"])).stdout, all.stdout);
        const some = await home.run(["hosts", "db.two.example", "www.example.com"]);
        assert.equal(some.stdout, block(known.slice(1)));
        assert.match(
          some.stderr,
          /postern: left out www\.example\.com: Cannot give "www\.example\.com" a loopback/,
        );
        assert.match(some.stderr, /listening for 1 name; any local user can connect/);
        const { hosts } = JSON.parse((await home.run(["hosts", "db.two.example", "-o", "json"])).stdout);
        assert.deepEqual(hosts, [{ address: other, name: "db.two.example", ports: [port] }]);
      },
    );
    await t.step("a port of a wildcard listener is refused by name, other ports work", async () => {
      using held = Deno.listen({ hostname: "0.0.0.0", port: 0 });
      const taken = held.addr.port;
      await home.configure(config(undefined, `, ${taken}`));
      await instance.says(/config\.reloaded/);
      assert.equal(addressIn(await ask("db.one.example")), one);
      assert.equal(await cli(one, "get", "who"), "one");
      await instance.says(
        new RegExp(`dns\\.port_refused .*port=${taken} .*already in use.*lsof -iTCP:${taken}`),
      );
    });
    await t.step("without the range nothing listens, and another range gives other addresses", async () => {
      await home.configure(config(""));
      const closed = async () =>
        (await runPeer(peers.redis_cli, ["-h", one, "-p", `${port}`, "ping"])).code !== 0;
      await eventually("the listeners are closed", closed);
      assert.deepEqual((await ask("db.one.example")).answers, []);
      await home.configure(config("127.96.7.0/24"));
      const again = async () => (await ask("db.one.example")).answers.join().includes("127.96.7.");
      await eventually("another range", again);
      assert.equal(await cli(addressIn(await ask("db.one.example")), "get", "who"), "one");
    });
    await t.step("a new instance listens for the printed names without a query", async () => {
      await home.configure(config());
      await eventually(
        "the first range",
        async () => addressIn(await ask("db.one.example")).startsWith("127.64."),
      );
      const { stdout } = await home.run(["hosts", "db.one.example"]);
      const [address = ""] = /^127\.64\.[0-9.]+/m.exec(stdout) ?? [];
      await stop(instance);
      await using next = home.start(["proxy"]);
      await next.ready;
      const answers = async () =>
        (await runPeer(peers.redis_cli, ["-h", address, "-p", `${port}`, "get", "who"])).stdout === "one\n";
      await eventually("the printed name", answers);
      assert.match((await home.run(["hosts", "--release"])).stderr, /released the printed names/);
      await stop(next);
    });
  });
}

const short = "an instance with few descriptors answers names as long as there are some, and clients always";
if (Deno.build.os !== "linux") skippedTest(short, "only on linux");
else {
  peerTest(short, ["bash", "dig", "redis_server"], async (peers) => {
    const under = [peers.bash, "-c", `ulimit -n 450; exec "$@"`, "bash"];
    await using two = await twoServers({ redis: peers.redis_server, under });
    const { instance, port, dns } = two;
    const names = Array.from({ length: 300 }, (_, at) => `host-${at}.one.example`);
    const { text } = await dig(peers.dig, dns, "+short", "db.one.example", ...names);
    const answered = text.match(/^127\.64\./gm)?.length ?? 0;
    // 256 of the 450 descriptors stay free for connections.
    assert.ok(answered >= 64 && answered < 450 - 256, `${answered}\n${instance.stderr.slice(-2000)}`);
    assert.match(instance.stderr, /dns\.no_answer .*too many open files/);
    const clients: Disposable[] = [];
    for (let left = 50; left > 0; left--) {
      const client = await throughSocks5(await instance.address(), { host: "db.one.example", port });
      clients.push(client);
      await client.send("PING\r\n");
      assert.equal(await client.takeUntil("\r\n"), "+PONG\r\n");
    }
    for (const client of clients) client[Symbol.dispose]();
    await stop(instance);
  });
}

const byName = "redis-cli and getent use names with the resolver of /etc/resolv.conf";
const namespace = inNamespace("--mount");
if ("missing" in namespace) skippedTest(byName, namespace.missing);
else {
  peerTest(byName, ["redis_server", "redis_cli", "getent"], async (peers) => {
    // A resolver has port 53; an address of this test keeps it apart from others on this machine.
    const server = `127.50.${Deno.pid >> 8 & 255}.${Deno.pid & 255 || 1}`;
    await using two = await twoServers({ redis: peers.redis_server, dns: `${server}:53` });
    const { home, instance, port } = two;
    const resolver = `${home.directory}/resolv.conf`;
    await Deno.writeTextFile(resolver, `nameserver ${server}\noptions timeout:10 attempts:1\n`);
    const under = namespace.wrap(`mount --bind ${resolver} /etc/resolv.conf`);
    const run = async (path: string, ...args: string[]) => {
      const { code, stdout, stderr } = await runPeer(path, args, { under });
      assert.equal(code, 0, `${stdout}${stderr}${instance.stderr}`);
      return stdout.trim();
    };
    assert.match(
      await run(peers.getent, "ahostsv4", "db.one.example"),
      /^127\.(?:6[4-9]|7[0-9])\.[0-9.]+ +STREAM/,
    );
    for (const name of ["one", "two"]) {
      const cli = (...args: string[]) =>
        run(peers.redis_cli, "-h", `db.${name}.example`, "-p", `${port}`, ...args);
      assert.equal(await cli("set", "who", name), "OK");
    }
    assert.equal(await run(peers.redis_cli, "-h", "db.one.example", "-p", `${port}`, "get", "who"), "one");
    await stop(instance);
  });
}
