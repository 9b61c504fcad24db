import assert from "node:assert/strict";
import { Household, type Instance } from "../support/postern_process.ts";
import { latin1, RawClient, socks5Asking, socks5Request, type SocksTarget } from "../support/raw_client.ts";
import { echoServer, type TargetServer } from "../support/target_server.ts";

interface Parts {
  readonly instance: Instance;
  readonly address: string;
  readonly target: TargetServer;
}

const patient = "default: direct\n";
const hasty = "listen: { limits: { handshake: 300ms } }\ndefault: direct\n";

/** A row: a door, a target that echoes, and afterwards both still work. */
function row(name: string, run: (parts: Parts) => Promise<void>, config = patient): void {
  Deno.test(name, async () => {
    await using home = await Household.open();
    await home.configure(config);
    await using target = echoServer();
    await using instance = await home.instance(["--log-level", "debug"]);
    const address = await instance.address();
    await run({ instance, address, target });
    await assertEcho(address, socks5Asking({ host: "127.0.0.1", port: target.port }), 12);
  });
}

/** Says something and gives everything that comes back until the door closes. */
async function said(address: string, content: string | Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  using client = await RawClient.connect(address);
  await client.send(content);
  return await client.rest();
}

async function assertEcho(address: string, asking: Uint8Array, replyLength: number): Promise<void> {
  using client = await RawClient.connect(address);
  await client.send(asking);
  await client.take(replyLength);
  await client.send("hello");
  assert.deepEqual(await client.take(5), latin1("hello"));
}

const loopback = (port: number): SocksTarget => ({ host: "127.0.0.1", port });
const address4 = (port: number) => Uint8Array.of(1, 127, 0, 0, 1, port >> 8, port & 255);

row(
  "a client that says one byte and no more is closed by the handshake timeout",
  async ({ instance, address }) => {
    for (const start of ["\x05", "\x04\x01", "C", "GET http://example.com/ HTTP/1.1\r\nHost: exa"]) {
      const answer = new TextDecoder("latin1").decode(await said(address, start));
      assert.match(answer, /^(|HTTP\/1\.1 408 [^]*)$/);
    }
    await instance.says(/client\.(refused|gone) .*(timeout|within|300 ms|0\.3 s)/);
  },
  hasty,
);

row("slow-loris: a byte now and then does not prolong the handshake", async ({ address }) => {
  using client = await RawClient.connect(address);
  const end = client.rest();
  const writing = (async () => {
    for (const letter of "GET http://example.com/ HTTP/1.1\r\nX: ".padEnd(500, "y")) {
      await client.send(letter);
      // Slowness is what this client is about: there is no event to wait for.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })().catch((error) => {
    // The door has closed: what we wanted to see.
    if (!(error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset)) {
      throw error;
    }
  });
  await end;
  client.close();
  await writing.catch((error) => assert.ok(error instanceof Deno.errors.BadResource));
}, hasty);

row("SOCKS5 offering only a password where none is set", async ({ address }) => {
  assert.deepEqual([...await said(address, Uint8Array.of(5, 1, 2))], [5, 0xff]);
});

row("of the methods 0 and 1 the door picks 0", async ({ address, target }) => {
  const asking = Uint8Array.of(5, 2, 0, 1, 5, 1, 0, ...address4(target.port));
  await assertEcho(address, asking, 12);
  using client = await RawClient.connect(address);
  await client.send(Uint8Array.of(5, 2, 0, 1));
  assert.deepEqual([...await client.take(2)], [5, 0]);
});

row("SOCKS4 by address and SOCKS4A by name", async ({ address, target: { port } }) => {
  const head = [4, 1, port >> 8, port & 255];
  await assertEcho(address, Uint8Array.of(...head, 127, 0, 0, 1, ...latin1("user\0")), 8);
  await assertEcho(address, Uint8Array.of(...head, 0, 0, 0, 1, 0, ...latin1("localhost\0")), 8);
});

row("a name of 255 bytes is handled, an empty one refused", async ({ instance, address }) => {
  const long = await said(
    address,
    socks5Asking({ host: `${"a".repeat(63)}.`.repeat(4).slice(0, 255), port: 80 }),
  );
  assert.deepEqual([...long.subarray(0, 4)], [5, 0, 5, 4]);
  const empty = await said(address, socks5Asking({ host: "", port: 80 }));
  assert.deepEqual([...empty.subarray(0, 3)], [5, 0, 5]);
  assert.ok([1, 8].includes(empty[3] ?? 0), `reply ${empty[3]}`);
  await instance.says(/client\.refused .*protocol=socks5/);
});

row("a name that is an IP literal is one, in brackets too", async ({ address, target }) => {
  await assertEcho(address, socks5Asking(loopback(target.port)), 12);
  await assertEcho(address, socks5Asking({ host: "[::ffff:127.0.0.1]", port: target.port }), 12);
});

row("BIND and UDP ASSOCIATE get reply 7", async ({ instance, address }) => {
  for (const command of [2, 3]) {
    const answer = await said(address, Uint8Array.of(5, 1, 0, ...socks5Request(loopback(80), command)));
    assert.deepEqual([...answer.subarray(0, 4)], [5, 0, 5, 7]);
  }
  await instance.says(/Cannot serve BIND[^]*Cannot serve UDP ASSOCIATE/);
});

row("a request of one byte a packet is the same request", async ({ address, target: { port } }) => {
  const askings = [
    { asking: socks5Asking(loopback(port)), reply: 12 },
    { asking: Uint8Array.of(4, 1, port >> 8, port & 255, 127, 0, 0, 1, 0), reply: 8 },
    { asking: latin1(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`), reply: 39 },
  ];
  for (const { asking, reply } of askings) {
    using client = await RawClient.connect(address);
    for (const byte of asking) await client.send(Uint8Array.of(byte));
    await client.take(reply);
    await client.send("hello");
    assert.deepEqual(await client.take(5), latin1("hello"));
  }
});

row("TLS on the plain port is closed, and the log says what it was", async ({ instance, address }) => {
  const hello = Uint8Array.of(0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0);
  assert.equal((await said(address, hello)).length, 0);
  await instance.says(/ WARN .*"the client uses TLS on a plaintext proxy port".*http:\/\//);
});

row("CONNECT without a port is 400 with a text", async ({ address }) => {
  const answer = new TextDecoder().decode(
    await said(address, "CONNECT example.com HTTP/1.1\r\nHost: example.com\r\n\r\n"),
  );
  assert.match(answer, /^HTTP\/1\.1 400 [^]*\r\n\r\n.*port/);
});

row("origin form is a page, never a loop", async ({ instance, address }) => {
  const answer = new TextDecoder().decode(
    await said(address, `GET / HTTP/1.1\r\nHost: ${address}\r\nConnection: close\r\n\r\n`),
  );
  assert.match(answer, /^HTTP\/1\.1 200 [^]*postern/);
  assert.doesNotMatch(instance.stderr, /conn\.done/);
});

row("the PAC file is for loopback Hosts only", async ({ address }) => {
  const pac = async (host: string) =>
    new TextDecoder().decode(
      await said(address, `GET /proxy.pac HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
  for (const host of [address, `localhost:${address.split(":")[1]}`]) {
    assert.match(
      await pac(host),
      /^HTTP\/1\.1 200 [^]*application\/x-ns-proxy-autoconfig[^]*FindProxyForURL/,
    );
  }
  for (const host of ["evil.example", `evil.example:${address.split(":")[1]}`, "127.0.0.1.evil.example"]) {
    assert.match(await pac(host), /^HTTP\/1\.1 403 (?![^]*FindProxyForURL)/, host);
  }
});

row("junk is closed without a word to any target", async ({ instance, address }) => {
  for (
    const junk of [
      "\0\0\0\0",
      "\xff".repeat(5000),
      "\x05\x00",
      "\x04\x09\x00\x50\x7f\x00\x00\x01\x00",
      "GET\r\n\r\n",
      "1\n",
    ]
  ) {
    const answer = await said(address, latin1(junk));
    const starts = ["05ff", "005b", latin1("HTTP/1.1 400 ").toHex()];
    assert.ok(
      answer.length === 0 || starts.some((start) => answer.toHex().startsWith(start)),
      answer.toHex(),
    );
  }
  assert.doesNotMatch(instance.stderr, /conn\.done| ERROR /);
}, hasty);
