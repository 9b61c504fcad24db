import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { latin1, RawClient, socks5Asking, type SocksTarget } from "../support/raw_client.ts";
import { echoServer, TargetServer, tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";

const early = patternBytes(200);
const answer = patternBytes(1_000_000, 7);

interface Upstreams {
  /** Two instances, and TLS in front of the first. */
  readonly far: string;
  readonly farther: string;
  readonly tls: string;
}

/**
 * The transports of an instance. The upstreams are instances too, because microsocks and tinyproxy end a
 * tunnel at its first half-close.
 */
const ways: readonly { name: string; config: (upstreams: Upstreams) => string }[] = [
  { name: "direct", config: () => "default: direct" },
  { name: "socks5h", config: ({ far }) => through(`proxy: { url: "socks5h://${far}" }`) },
  { name: "http", config: ({ far }) => through(`proxy: { url: "http://${far}" }`) },
  { name: "https", config: ({ tls }) => through(`proxy: { url: "https://${tls}", ca: ca.crt }`) },
  {
    name: "http via socks5h",
    config: ({ far, farther }) =>
      through(`proxy: { url: "http://${farther}" }, via: first`, `proxy: { url: "socks5h://${far}" }`),
  },
  {
    name: "socks5h via https",
    config: ({ farther, tls }) =>
      through(
        `proxy: { url: "socks5h://${farther}" }, via: first`,
        `proxy: { url: "https://${tls}", ca: ca.crt }`,
      ),
  },
];

function through(it: string, first?: string): string {
  return `transports:\n  it: { ${it} }\n${first ? `  first: { ${first} }\n` : ""}default: it\n`;
}

type Asking = (target: SocksTarget) => Uint8Array<ArrayBuffer>;

/** A client's request, and how to read the response to it. */
const protocols: readonly { name: string; ask: Asking; connected: (client: RawClient) => Promise<void> }[] = [
  {
    name: "SOCKS5",
    ask: socks5Asking,
    connected: async (client) => assert.equal((await client.take(12))[3], 0),
  },
  {
    name: "SOCKS4A",
    ask: ({ host, port }) =>
      new Uint8Array([4, 1, port >> 8, port & 255, 0, 0, 0, 1, 0, ...latin1(`${host}\0`)]),
    connected: async (client) => assert.equal((await client.take(8))[1], 0x5a),
  },
  {
    name: "CONNECT",
    ask: ({ host, port }) => latin1(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`),
    connected: async (client) => assert.match(await client.takeUntil("\r\n\r\n"), /^HTTP\/1\.1 200 /),
  },
];

type Protocol = (typeof protocols)[number];

const tests: readonly {
  name: string;
  target: () => TargetServer;
  run: (client: RawClient, protocol: Protocol, target: SocksTarget) => Promise<void>;
}[] = [
  {
    name: "200 bytes sent together with the request all arrive",
    target: echoServer,
    run: async (client, { ask, connected }, target) => {
      await client.send(new Uint8Array([...ask(target), ...early]));
      await connected(client);
      assert.deepEqual(await client.take(200), early);
    },
  },
  {
    name: "a client that half-closes after its request gets the whole response",
    target: () =>
      new TargetServer(async (client) => {
        assert.deepEqual(await client.rest(), early);
        await client.send(answer);
      }),
    run: async (client, { ask, connected }, target) => {
      await client.send(ask(target));
      await connected(client);
      await client.send(early);
      await client.end();
      assert.deepEqual(await client.rest(), answer);
    },
  },
  {
    name: "the request, 200 bytes and the half-close together",
    target: echoServer,
    run: async (client, { ask, connected }, target) => {
      await client.send(new Uint8Array([...ask(target), ...early]));
      await client.end();
      await connected(client);
      assert.deepEqual(await client.rest(), early);
    },
  },
  {
    name: "the greeting of a server that speaks first arrives",
    target: () => new TargetServer((client) => client.send("220 ready\r\n")),
    run: async (client, { ask, connected }, target) => {
      await client.send(ask(target));
      await connected(client);
      assert.equal(await client.restText(), "220 ready\r\n");
    },
  },
];

for (const { name, config } of ways) {
  Deno.test(`no byte is lost (${name})`, async (context) => {
    await using home = await Household.open();
    await using far = await home.instance(["--id", "far", "--route", "any=direct"]);
    await using farther = await home.instance(["--id", "farther", "--route", "any=direct"]);
    await using front = tlsFront(await far.address(), testTls.server);
    const upstreams = { far: await far.address(), farther: await farther.address(), tls: front.address };
    const path = await home.configure(config(upstreams));
    await Deno.writeTextFile(path.replace("config.yaml", "ca.crt"), testTls.ca);
    await using near = await home.instance(["--id", "near"]);
    const listener = await near.address();
    for (const { name, target, run } of tests) {
      for (const protocol of protocols) {
        await context.step(`${name} (${protocol.name})`, async () => {
          await using server = target();
          using client = await RawClient.connect(listener);
          await run(client, protocol, { host: "127.0.0.1", port: server.port });
        });
      }
    }
  });
}
