import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { dig } from "../support/dig.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";

const zoneText = "postern.invalid. hostmaster.invalid. 1 3600 600 86400 5";

/** Names that go through a proxy which nobody runs: what DNS says of them needs no way. */
const config = `
listen: { mixed: "127.0.0.1:0", dns: "127.0.0.1:0", admin: "127.0.0.1:0" }
transports: { up: { proxy: { url: "socks5h://127.0.0.1:1" } } }
routes:
  - { to: [corp.example, .below.example, "db.port.example:5432"], via: up }
  - { to: [any], via: direct }
direct: [public.corp.example]
dns: { domains: [own.example, localhost], fakeRange: 198.18.0.0/15 }
`;

async function dnsPort(instance: Instance): Promise<number> {
  const address = (await instance.ready).find((one) => one.startsWith("dns:127.0.0.1:"));
  return Number(address?.slice("dns:127.0.0.1:".length) ?? assert.fail("no port for DNS"));
}

/** A door as the configuration says, with a free port for each listener. */
async function start(home: Household): Promise<Instance> {
  const instance = home.start(["proxy"]);
  await instance.ready;
  return instance;
}

const questions: {
  readonly name: string;
  readonly ask: readonly string[];
  readonly status: string;
  readonly answers?: readonly RegExp[];
  readonly soa?: string;
}[] = [
  {
    name: "a routed name",
    ask: ["db.corp.example"],
    status: "NOERROR",
    answers: [/^db\.corp\.example\. 60 IN A 198\.1[89]\.\d+\.\d+$/],
  },
  {
    name: "the same by TCP",
    ask: ["+tcp", "db.corp.example"],
    status: "NOERROR",
    answers: [/^db\.corp\.example\. 60 IN A 198\./],
  },
  {
    name: "the same without EDNS",
    ask: ["+noedns", "db.corp.example"],
    status: "NOERROR",
    answers: [/ IN A 198\./],
  },
  {
    name: "the same in other letters",
    ask: ["DB.Corp.eXample"],
    status: "NOERROR",
    answers: [/^DB\.Corp\.eXample\. 60 IN A 198\./],
  },
  { name: "any record of it", ask: ["db.corp.example", "ANY"], status: "NOERROR", answers: [/ IN A 198\./] },
  {
    name: "an IPv6 address of it",
    ask: ["db.corp.example", "AAAA"],
    status: "NOERROR",
    soa: "corp.example",
  },
  { name: "an MX record of it", ask: ["db.corp.example", "MX"], status: "NOERROR", soa: "corp.example" },
  {
    name: "the SOA of a domain",
    ask: ["corp.example", "SOA"],
    status: "NOERROR",
    soa: "corp.example",
  },
  {
    name: "a name of our own domain",
    ask: ["x.own.example"],
    status: "NOERROR",
    answers: [/^x\.own\.example\. 60 IN A 198\./],
  },
  {
    name: "a name with a route for one port",
    ask: ["db.port.example"],
    status: "NOERROR",
    answers: [/ IN A 198\./],
  },
  {
    name: "the apex of what is only below it",
    ask: ["below.example"],
    status: "NOERROR",
    soa: "below.example",
  },
  {
    name: "what is no host's name",
    ask: ["_x._tcp.corp.example", "SRV"],
    status: "NXDOMAIN",
    soa: "corp.example",
  },
  { name: "a name of others", ask: ["www.example.com"], status: "REFUSED" },
  { name: "a name that only ends alike", ask: ["notcorp.example"], status: "REFUSED" },
  { name: "an exclusion", ask: ["public.corp.example"], status: "REFUSED" },
  { name: "the root", ask: [".", "NS"], status: "REFUSED" },
  { name: "an address of others", ask: ["-x", "192.0.2.1"], status: "REFUSED" },
  {
    name: "an address of the range that is nobody's",
    ask: ["-x", "198.19.9.9"],
    status: "NXDOMAIN",
    soa: "19.198.in-addr.arpa",
  },
  { name: "the version of a server", ask: ["version.bind", "TXT", "CH"], status: "REFUSED" },
  { name: "an update", ask: ["+opcode=update", "+noedns", "db.corp.example"], status: "NOTIMP" },
  { name: "EDNS of a later version", ask: ["+edns=1", "+noednsneg", "db.corp.example"], status: "BADVERS" },
];

peerTest("dig gets of the door's DNS what is ours, and REFUSED for the rest", ["dig"], async (peers, t) => {
  await using home = await Household.open();
  await home.configure(config);
  await using instance = await start(home);
  const port = await dnsPort(instance);
  for (const { name, ask, status, answers = [], soa } of questions) {
    await t.step(name, async () => {
      const dug = await dig(peers.dig, port, ...ask);
      assert.equal(dug.status, status, dug.text);
      assert(dug.flags.includes("qr") && !dug.flags.includes("ra") && !dug.flags.includes("tc"), dug.text);
      assert.equal(dug.flags.includes("aa"), answers.length > 0 || soa !== undefined, dug.text);
      assert.doesNotMatch(dug.text, /malformed|WARNING: (?!recursion)|mismatch/i);
      const isSoa = ask.includes("SOA");
      const zone = soa === undefined ? [] : [`${soa}. 5 IN SOA ${zoneText}`];
      assert.deepEqual(dug.authorities, isSoa ? [] : zone, dug.text);
      if (isSoa) assert.deepEqual(dug.answers, zone);
      else {
        assert.equal(dug.answers.length, answers.length, dug.text);
        for (const [at, pattern] of answers.entries()) assert.match(dug.answers[at] ?? "", pattern);
      }
    });
  }
  await t.step("the name of an address of the range leads back", async () => {
    const [, address = ""] =
      / A (\S+)$/.exec((await dig(peers.dig, port, "db.corp.example")).answers[0] ?? "") ?? [];
    const { answers } = await dig(peers.dig, port, "-x", address);
    assert.match(answers[0] ?? "", / 5 IN PTR db\.corp\.example\.$/);
  });
  await t.step("no zone is transferred", async () => {
    assert.match((await dig(peers.dig, port, "corp.example", "AXFR")).text, /Transfer failed/);
  });
  await t.step("Deno's own resolver reads the same", async () => {
    const nameServer = { ipAddr: "127.0.0.1", port };
    const [address = ""] = await Deno.resolveDns("db.corp.example.", "A", { nameServer });
    assert.match(address, /^198\.1[89]\./);
    const reverse = `${address.split(".").reverse().join(".")}.in-addr.arpa.`;
    assert.deepEqual(await Deno.resolveDns(reverse, "PTR", { nameServer }), ["db.corp.example."]);
    await assert.rejects(Deno.resolveDns("db.corp.example.", "AAAA", { nameServer }), Deno.errors.NotFound);
  });
  await t.step("status and metrics tell of it", async () => {
    const { stdout } = await home.run(["status", "-o", "json"]);
    const [{ dns, listeners }] = JSON.parse(stdout);
    assert.deepEqual(dns.addresses, [{ host: "127.0.0.1", port }]);
    assert(dns.domains.includes("corp.example") && dns.domains.includes("19.198.in-addr.arpa"), stdout);
    assert(dns.fakeAddresses >= 3);
    const addressOf = (kind: string) =>
      listeners.find((listener: { kind: string }) => listener.kind === kind)?.address;
    assert.equal(addressOf("dns"), `127.0.0.1:${port}`);
    const metrics = await (await fetch(`http://${addressOf("admin")}/metrics`)).text();
    assert.match(metrics, /^postern_dns_queries_total\{protocol="udp",outcome="answered"\} [1-9]/m);
    assert.match(metrics, /^postern_dns_queries_total\{protocol="tcp",outcome="answered"\} [1-9]/m);
    assert.match(metrics, /^postern_dns_fake_addresses [1-9]/m);
  });
});

peerTest("junk by UDP and TCP does not keep dig from its answer", ["dig"], async (peers) => {
  await using home = await Household.open();
  await home.configure(config);
  await using instance = await start(home);
  const port = await dnsPort(instance);
  const socket = createSocket("udp4");
  const send = (bytes: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      socket.send(bytes, port, "127.0.0.1", (error) => error ? reject(error) : resolve());
    });
  for (let size = 0; size < 300; size++) await send(patternBytes(size, size + 1));
  await send(new Uint8Array(60_000));
  // As many as a client may have open, each with half a question.
  const clients = await Promise.all(
    Array.from({ length: 20 }, () => Deno.connect({ hostname: "127.0.0.1", port })),
  );
  for (const client of clients) await client.write(Uint8Array.of(0, 30, 1, 2));
  assert.equal((await dig(peers.dig, port, "db.corp.example")).status, "NOERROR");
  assert.equal((await dig(peers.dig, port, "+tcp", "db.corp.example")).status, "NOERROR");
  for (const client of clients) client.close();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
});

peerTest(
  "an address of the range leads to its name, also after kill -9, and one of nobody leads nowhere",
  ["dig", "curl"],
  async (peers, t) => {
    await using home = await Household.open();
    await home.configure(config);
    await using site = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => new Response(`asked for ${new URL(request.url).hostname}\n`),
    );
    const { port: sitePort } = site.addr;
    const first = await start(home);
    const addressOf = async (instance: Instance, name: string) => {
      const { answers: [line = ""] } = await dig(peers.dig, await dnsPort(instance), name);
      return / A (\S+)$/.exec(line)?.[1] ?? assert.fail(line);
    };
    const fetched = async (instance: Instance, host: string) => {
      const url = `http://${host}:${sitePort}/`;
      const proxy = `socks5://${await instance.address()}`;
      const args = ["--silent", "--show-error", "--noproxy", "", "--proxy", proxy, url];
      const { code, stdout } = await new Deno.Command(peers.curl, { args }).output();
      return [code, new TextDecoder().decode(stdout)];
    };
    const localhost = await addressOf(first, "localhost");
    const db = await addressOf(first, "db.corp.example");
    assert.notEqual(localhost, db);
    await t.step("through the door to the name", async () => {
      assert.deepEqual(await fetched(first, localhost), [0, `asked for ${localhost}\n`]);
      await first.says(
        new RegExp(`conn\\.done .*target=localhost:${sitePort} .*requested as ${localhost}`),
      );
    });
    await t.step("explain asks the door", async () => {
      const { stdout } = await home.run(["explain", `${db}:5432`]);
      assert.match(stdout, /^db\.corp\.example:5432 goes to up\n/);
      assert.match(stdout, new RegExp(`because .*rule "corp\\.example" .*requested as ${db}`));
    });
    first.kill("SIGKILL");
    await first.ended;
    await t.step("explain without a door reads what was given out", async () => {
      const { stdout, code } = await home.run(["explain", `${db}:5432`]);
      assert.equal(code, 0);
      assert.match(stdout, /^db\.corp\.example:5432 goes to up\n/);
      const nobody = await home.run(["explain", "198.19.200.1"]);
      assert.equal(nobody.code, 6);
      assert.match(nobody.stderr, /Cannot reach 198\.19\.200\.1: the address belongs to no name\n/);
    });
    await t.step("the next door knows them still, and gives out no address twice", async () => {
      await using second = await start(home);
      assert.deepEqual(await fetched(second, localhost), [0, `asked for ${localhost}\n`]);
      assert(![localhost, db].includes(await addressOf(second, "new.corp.example")));
      assert.equal(await addressOf(second, "db.corp.example"), db);
      const [code] = await fetched(second, "198.19.200.1");
      assert.equal(code, 97);
      await second.says(
        /target=198\.19\.200\.1:\d+ transport=reject because=dns\.fakeRange .*name_not_found/,
      );
    });
    await t.step("the file is for nobody else", async () => {
      const file = `${home.places.state}/dns/default.addresses`;
      const { mode } = await Deno.stat(file);
      assert.equal((mode ?? 0) & 0o777, 0o600);
      assert.match(await Deno.readTextFile(file), new RegExp(`^${db} db\\.corp\\.example$`, "m"));
    });
  },
  { platforms: ["linux", "darwin"] },
);

Deno.test("a DNS port that is taken for one of UDP and TCP is named, and nothing is left bound", async (t) => {
  await using home = await Household.open();
  await home.configure(config);
  await t.step("TCP", async () => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { code, stderr } = await home.run(["proxy", "--listen-dns", `127.0.0.1:${taken.addr.port}`]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${taken.addr.port}: .*in use`));
  });
  await t.step("UDP", async () => {
    const taken = createSocket("udp4");
    await new Promise<void>((resolve) => taken.bind(0, "127.0.0.1", resolve));
    const { port } = taken.address();
    const { code, stderr } = await home.run(["proxy", "--listen-dns", `127.0.0.1:${port}`]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${port} for UDP: .*in use`));
    await new Promise<void>((resolve) => taken.close(() => resolve()));
  });
  await t.step("an address that others reach", async () => {
    const { code, stderr } = await home.run(["proxy", "--allow-open", "--listen-dns", "0.0.0.0:0"]);
    assert.equal(code, 4, stderr);
    assert.match(stderr, /--listen-dns: must be a loopback address/);
  });
});

peerTest(
  "a reload adds DNS and takes it away, and a mistake in it changes nothing",
  ["dig"],
  async (peers) => {
    await using home = await Household.open();
    const without = config.replace(/, dns: "[^"]*"/, "");
    await home.configure(without);
    await using instance = await start(home);
    const dnsOf = async () => JSON.parse((await home.run(["status", "-o", "json"])).stdout)[0].dns;
    assert.equal(await dnsOf(), undefined);
    await home.configure(config);
    assert.equal((await home.run(["reload"])).code, 0);
    const { addresses: [{ port }] } = await dnsOf();
    assert.equal((await dig(peers.dig, port, "db.corp.example")).status, "NOERROR");
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    await home.configure(config.replace(/dns: "127.0.0.1:0"/, `dns: "127.0.0.1:${taken.addr.port}"`));
    assert.notEqual((await home.run(["reload"])).code, 0);
    assert.equal((await dig(peers.dig, port, "db.corp.example")).status, "NOERROR");
    await home.configure(without);
    assert.equal((await home.run(["reload"])).code, 0);
    assert.equal(await dnsOf(), undefined);
    assert.equal((await dig(peers.dig, port, "+time=1", "db.corp.example")).status, "");
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0);
  },
);
