import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";
import { RawClient, socks5Asking } from "../support/raw_client.ts";

interface LoopCase {
  readonly name: string;
  readonly listen: readonly string[];
  /** Hosts that refer to the instance; those with `six` need the port of its IPv6 listener. */
  readonly hosts: readonly string[];
  readonly six?: boolean;
}

const cases: readonly LoopCase[] = [
  {
    name: "an instance on 127.0.0.1",
    listen: [],
    hosts: [
      ...["127.0.0.1", "127.1", "0x7f.1", "localhost", "LOCALHOST", "0.0.0.0", "0"],
      ...["::ffff:127.0.0.1", "[::ffff:7f00:1]"],
    ],
  },
  {
    name: "an instance on ::1",
    listen: ["--listen", "[::1]:0"],
    hosts: ["::1", "[::1]", "0:0:0:0:0:0:0:1", "::"],
    six: true,
  },
  {
    name: "an instance on the wildcard address",
    listen: ["--listen", "0.0.0.0:0", "--allow-open"],
    hosts: ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "::ffff:127.0.0.1"],
  },
];

for (const { name, listen, hosts, six } of cases) {
  Deno.test(`a request for the instance itself is refused in every spelling (${name})`, async () => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using instance = await home.instance(listen);
    const addresses = await instance.ready;
    const last = addresses.at(-1) ?? "";
    const port = Number(last.slice(last.lastIndexOf(":") + 1));
    assert.equal(six === true, last.startsWith("[::1]"));
    for (const host of hosts) {
      using client = await RawClient.connect(addresses[0] ?? "");
      await client.send(socks5Asking({ host, port }));
      assert.deepEqual([...(await client.take(12)).subarray(0, 4)], [5, 0, 5, 2], host);
      const written = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
      using http = await RawClient.connect(addresses[0] ?? "");
      await http.send(`CONNECT ${written}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
      assert.match(
        await http.restText(),
        /^HTTP\/1\.1 403 [^]*\r\n\r\nCannot connect to \S+: the address is a listener of this instance, which would be a loop\nconnect to your target's address/,
        host,
      );
    }
    await instance.says(/a listener of this instance, which would be a loop/);
    const name = six ? "[::1]" : "localhost";
    assert.equal((await home.run(["explain", `${name}:${port}`, "--dial"])).code, 1);
  });
}

Deno.test("a request for the instance itself is refused after an upstream that leads back", async () => {
  await using home = await Household.open();
  await using other = await home.instance(["--id", "other", "--route", "any=direct"]);
  await home.configure(
    `transports: { it: { proxy: { url: "http://${await other.address()}" } } }\ndefault: it\n`,
  );
  await using instance = await home.instance();
  using client = await RawClient.connect(await instance.address());
  const [host = "", port] = (await other.address()).split(":");
  await client.send(socks5Asking({ host, port: Number(port) }));
  assert.deepEqual([...(await client.take(12)).subarray(0, 4)], [5, 0, 5, 2]);
});
