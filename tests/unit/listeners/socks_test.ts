import assert from "node:assert/strict";
import { type ErrorDetail, PosternError } from "../../../src/words/mod.ts";
import { Authenticator, serveHttp, serveMixed, serveSocks } from "../../../src/listeners/mod.ts";
import { encodeSocks5Credentials } from "../../../src/wire/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import {
  bytesOf,
  fromHex,
  readExactly,
  serveClient,
  type ServedClient,
  toHex,
} from "../../support/fake_dial.ts";
import { readAll } from "../../support/memory_conn.ts";

const granted5 = "05000001000000000000";
const granted4 = "005a000000000000";
const me = { name: "me", password: "secret" };
const toName = `0501000309 ${toHex(bytesOf("a.example"))} 01bb`;

const requests = [
  {
    name: "SOCKS5 by name",
    hello: ["050100", toName],
    reply: `0500${granted5}`,
    target: { host: "a.example", port: 443 },
    protocol: "socks5",
  },
  {
    name: "SOCKS5 by IPv4 address",
    hello: ["05020100", "05010001c00002010050"],
    reply: `0500${granted5}`,
    target: { host: "192.0.2.1", port: 80 },
    protocol: "socks5",
  },
  {
    name: "SOCKS5 by IPv6 address in brackets, sent as a name",
    hello: ["050100", "05010003055b3a3a315d0050"],
    reply: `0500${granted5}`,
    target: { host: "::1", port: 80 },
    protocol: "socks5",
  },
  {
    name: "SOCKS5 by a name of 255 bytes",
    hello: ["050100", `05010003ff${"61".repeat(255)}0050`],
    reply: `0500${granted5}`,
    target: { host: "a".repeat(255), port: 80 },
    protocol: "socks5",
  },
  {
    name: "SOCKS4 by address",
    hello: ["04010050c000020100"],
    reply: granted4,
    target: { host: "192.0.2.1", port: 80 },
    protocol: "socks4",
  },
  {
    name: "SOCKS4A by name",
    hello: [`04010050000000016d6500${toHex(bytesOf("a.example"))}00`],
    reply: granted4,
    target: { host: "a.example", port: 80 },
    protocol: "socks4",
  },
];

for (const { name, hello, reply, target, protocol } of requests) {
  for (const how of ["one piece", "one piece per message", "one byte per piece"]) {
    Deno.test(`serveMixed() connects ${name}, sent in ${how}, and loses no early byte`, async () => {
      const { client, served, dials } = serveClient(serveMixed);
      const early = "e".repeat(200);
      const pieces = how === "one piece"
        ? [fromHex(hello.join("") + toHex(bytesOf(early)))]
        : how === "one piece per message"
        ? [...hello.map(fromHex), bytesOf(early)]
        : [...fromHex(hello.join("")), ...bytesOf(early)].map((byte) => Uint8Array.of(byte));
      for (const piece of pieces) await client.write(piece);
      const dial = await dials.nth(0);
      assert.deepEqual(dial.request, { target, client: "memory:b", protocol });
      assert.equal(toHex(await readExactly(client, reply.length / 2)), reply.replaceAll(" ", ""));
      assert.deepEqual(await readExactly(dial.target, 200), bytesOf(early));
      await dial.target.write(bytesOf("answer"));
      await dial.target.closeWrite();
      assert.deepEqual(await readAll(client), bytesOf("answer"));
      await client.closeWrite();
      await served;
      assert.equal(dial.outcome, "done");
      assert.deepEqual(dial.tally, { up: 200, down: 6 });
    });
  }

  Deno.test(`serveMixed() survives a client that disconnects anywhere in ${name}`, async () => {
    const bytes = fromHex(hello.join(""));
    for (let cut = 0; cut < bytes.length; cut++) {
      for (const leave of ["end", "abort"] as const) {
        const { client, served, dials, clock } = serveClient(serveMixed);
        if (cut > 0) await client.write(bytes.subarray(0, cut));
        if (leave === "abort") client.abort();
        else await client[Symbol.asyncDispose]();
        await served;
        assert.deepEqual(dials.made, []);
        assert.equal(clock.waiting, 0);
      }
    }
  });

  Deno.test(`serveMixed() forwards the client's half-close after ${name} and still returns the answer`, async () => {
    const { client, served, dials } = serveClient(serveMixed);
    for (const message of hello) await client.write(fromHex(message));
    await client.write(bytesOf("x".repeat(1000)));
    await client.closeWrite();
    const { target } = await dials.nth(0);
    const received = await readAll(target);
    await target.write(bytesOf(`got ${received.length} bytes`));
    await target.closeWrite();
    const answer = await readAll(client);
    assert.equal(toHex(answer.subarray(0, reply.length / 2)), reply);
    assert.equal(new TextDecoder().decode(answer.subarray(reply.length / 2)), "got 1000 bytes");
    await served;
  });
}

const errors: { name: string; error: unknown; code5: number }[] = [
  { name: "a refused port", error: failure("refused"), code5: 5 },
  { name: "an unknown name", error: failure("name_not_found"), code5: 4 },
  { name: "an unreachable network", error: failure("unreachable", "network"), code5: 3 },
  { name: "an unreachable host", error: failure("unreachable", "host"), code5: 4 },
  { name: "a timeout", error: failure("timeout"), code5: 6 },
  { name: "a route that rejects", error: failure("not_allowed"), code5: 2 },
  { name: "a failed sign-in upstream", error: failure("auth"), code5: 2 },
  { name: "something unexpected", error: new TypeError("broken"), code5: 1 },
];

function failure(code: ConstructorParameters<typeof PosternError>[0], detail?: ErrorDetail): PosternError {
  return new PosternError(code, "Cannot connect", detail === undefined ? {} : { detail });
}

for (const { name, error, code5 } of errors) {
  Deno.test(`serveMixed() answers ${name} with ${code5} in SOCKS5 and 0x5B in SOCKS4, then closes`, async () => {
    for (
      const [hello, reply] of [
        [`050100${toName}ffff`, `0500050${code5}0001`],
        ["04010050c000020100ffff", "005b"],
      ] as const
    ) {
      const { client, served, dials } = serveClient(serveMixed);
      dials.failure = error;
      await client.write(fromHex(hello));
      assert(toHex(await readAll(client)).startsWith(reply));
      await client[Symbol.asyncDispose]();
      await served;
    }
  });
}

const refused = [
  { name: "only method 2 on a listener without passwords", hello: "050102", reply: "05ff" },
  { name: "no method at all", hello: "0500", reply: "05ff" },
  { name: "BIND", hello: "050100 05020001 00000000 0000", reply: "050005070001000000000000" },
  { name: "UDP ASSOCIATE", hello: "050100 05030001 00000000 0000", reply: "050005070001000000000000" },
  {
    name: "RESOLVE on a listener that only connects",
    hello: `050100 05f0000309 ${toHex(bytesOf("a.example"))} 0000`,
    reply: "050005070001000000000000",
  },
  {
    name: "RESOLVE_PTR on a listener that only connects",
    hello: "050100 05f10001 c0000201 0000",
    reply: "050005070001000000000000",
  },
  { name: "an unknown command", hello: "050100 05090001 00000000 0000", reply: "050005070001000000000000" },
  {
    name: "an unknown address type",
    hello: "050100 05010002 00000000 0000",
    reply: "050005080001000000000000",
  },
  { name: "an empty name", hello: "050100 0501000300 0000", reply: "050005010001000000000000" },
  { name: "a second message of SOCKS4", hello: "050100 0401", reply: "050005010001000000000000" },
  { name: "BIND of SOCKS4", hello: "04020050c000020100", reply: "005b000000000000" },
  { name: "an empty name of SOCKS4A", hello: "0401005000000001 00 00", reply: "005b000000000000" },
];

for (const { name, hello, reply } of refused) {
  Deno.test(`serveMixed() refuses ${name} without a dial`, async () => {
    const { client, served, dials, log } = serveClient(serveMixed);
    await client.write(fromHex(hello));
    assert.equal(toHex(await readAll(client)), reply);
    await client[Symbol.asyncDispose]();
    await served;
    assert.deepEqual(dials.made, []);
    assert.equal(log.lines[0]?.event, "client.refused");
  });
}

Deno.test("serveMixed() passes lookups with their user and answers them, whole names included", async () => {
  const asked: unknown[] = [];
  const names = {
    addressOf: (request: unknown) => (asked.push(request), Promise.resolve("2001:db8::1")),
    nameOf: (request: unknown) => (asked.push(request), Promise.resolve("n".repeat(255))),
  };
  const lookups = [
    [`05f0000309${toHex(bytesOf("a.example"))}0000`, "a.example", "0420010db8000000000000000000000001"],
    ["05f10001c00002010000", "192.0.2.1", `03ff${"6e".repeat(255)}`],
    // torsocks sends 16 bytes for an IPv4 address.
    [`05f10001c00002010000${"00".repeat(12)}`, "192.0.2.1", `03ff${"6e".repeat(255)}`],
  ] as const;
  for (const [hello, host, answer] of lookups) {
    const auth = new Authenticator([me], new FakeClock());
    const { client, served, dials } = serveClient(serveMixed, { auth, names });
    await client.write(fromHex("050102"));
    await client.write(encodeSocks5Credentials({ user: "me", password: "secret" }));
    await client.write(fromHex(hello));
    assert.equal(toHex(await readAll(client)), `05020100050000${answer}0000`);
    await client[Symbol.asyncDispose]();
    await served;
    assert.deepEqual(asked.pop(), {
      target: { host, port: 0 },
      user: "me",
      client: "memory:b",
      protocol: "socks5",
    });
    assert.deepEqual(dials.made, []);
  }
});

Deno.test("serveMixed() picks method 0 when it is one of several", async () => {
  const { client, served } = serveClient(serveMixed);
  await client.write(fromHex("0504 02010003"));
  assert.equal(toHex(await readExactly(client, 2)), "0500");
  client.abort();
  await served;
});

Deno.test("serveMixed() accepts the right password and passes the user to the dial", async () => {
  const { client, served, dials } = serveClient(serveMixed, {
    auth: new Authenticator([me], new FakeClock()),
  });
  await client.write(fromHex("05020002"));
  assert.equal(toHex(await readExactly(client, 2)), "0502");
  await client.write(encodeSocks5Credentials({ user: "me", password: "secret" }));
  assert.equal(toHex(await readExactly(client, 2)), "0100");
  await client.write(fromHex(toName));
  assert.equal((await dials.nth(0)).request.user, "me");
  client.abort();
  await served;
});

const wrong = [
  {
    name: "a wrong password",
    hello: ["050102", toHex(encodeSocks5Credentials({ user: "me", password: "x" }))],
    reply: "05020101",
  },
  {
    name: "an unknown user",
    hello: ["050102", toHex(encodeSocks5Credentials({ user: "x", password: "secret" }))],
    reply: "05020101",
  },
  { name: "a client that offers no password method", hello: ["050100"], reply: "05ff" },
  { name: "SOCKS4, which has no passwords", hello: ["04010050c000020100"], reply: "005d000000000000" },
];

for (const { name, hello, reply } of wrong) {
  Deno.test(`serveMixed() of a listener with passwords refuses ${name}`, async () => {
    const { client, served, dials } = serveClient(serveMixed, {
      auth: new Authenticator([me], new FakeClock()),
    });
    for (const message of hello) await client.write(fromHex(message));
    assert.equal(toHex(await readAll(client)), reply);
    await client[Symbol.asyncDispose]();
    await served;
    assert.deepEqual(dials.made, []);
  });
}

for (const sent of ["", "05", "050100", "04", "G", "GET http://a/ HTTP/1.1\r\nHost"]) {
  Deno.test(`serveMixed() closes a client that sends only ${JSON.stringify(sent)}`, async () => {
    const { client, served, clock, dials } = serveClient(serveMixed);
    await client.write(/^[0-9]+$/.test(sent) ? fromHex(sent) : bytesOf(sent));
    await clock.advance(9_000);
    assert.equal(clock.waiting, 1);
    await clock.advance(2_000);
    await served;
    assert.equal(clock.waiting, 0);
    assert.deepEqual(dials.made, []);
  });
}

Deno.test("serveMixed() closes TLS and logs the reason", async () => {
  const { client, served, log } = serveClient(serveMixed);
  await client.write(fromHex("160301020001"));
  await served;
  assert.equal(log.lines[0]?.event, "instance.tls");
  assert.equal(log.lines[0]?.["reason"], "the client uses TLS on a plaintext proxy port");
  await assert.rejects(client.read(new Uint8Array(1)));
});

Deno.test("serveMixed() immediately closes a connection with any other first byte", async () => {
  for (const byte of [0, 1, 3, 6, 0x17, 0x20, 0x30, 0x40, 0x5b, 0x60, 0x7b, 0x80, 0xff]) {
    const { client, served, clock } = serveClient(serveMixed);
    await client.write(Uint8Array.of(byte));
    await served;
    assert.equal(clock.waiting, 0);
    await assert.rejects(client.read(new Uint8Array(1)));
  }
});

Deno.test("serveMixed() does not delay the reply while a target reads early bytes slowly", async () => {
  const { client, served, dials } = serveClient(serveMixed, { capacity: 100 });
  const writing = client.write(fromHex(`050100${toName}${"ee".repeat(300)}`));
  const { target } = await dials.nth(0);
  assert.equal(toHex(await readExactly(client, 12)), `0500${granted5}`);
  assert.equal((await readExactly(target, 300)).length, 300);
  await writing;
  client.abort();
  await served;
});

Deno.test("serveMixed() ends with its signal while a target does not read the early bytes", async () => {
  const { client, served, dials, stop } = serveClient(serveMixed, { capacity: 100 });
  const writing = client.write(fromHex(`050100${toName}${"ee".repeat(300)}`));
  const dial = await dials.nth(0);
  await readExactly(client, 12);
  stop.abort(new PosternError("cancelled", "The instance is stopping"));
  await served;
  await assert.rejects(writing);
  assert.equal(dial.outcome, "cancelled");
});

Deno.test("serveMixed() resets the client when the target resets", async () => {
  const { client, served, dials } = serveClient(serveMixed);
  await client.write(fromHex(`050100${toName}`));
  const dial = await dials.nth(0);
  await readExactly(client, 12);
  dial.target.abort();
  await assert.rejects(readAll(client));
  await served;
  assert.equal(dial.outcome, "target_gone");
});

Deno.test("serveMixed() drops a client that does not close after a refusal", async () => {
  const { client, served, clock }: ServedClient = serveClient(serveMixed);
  await client.write(fromHex("050102"));
  assert.equal(toHex(await readAll(client)), "05ff");
  await clock.advance(1_100);
  await served;
  assert.equal(clock.waiting, 0);
});

const others = [
  {
    name: "serveSocks()",
    serve: serveSocks,
    bytes: bytesOf("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    event: "client.refused",
  },
  { name: "serveHttp()", serve: serveHttp, bytes: fromHex(`050100${toName}`), event: "client.refused" },
  { name: "serveHttp()", serve: serveHttp, bytes: fromHex("04010050c000020100"), event: "client.refused" },
  { name: "serveHttp()", serve: serveHttp, bytes: fromHex("160301"), event: "instance.tls" },
];

for (const { name, serve, bytes, event } of others) {
  Deno.test(`${name} refuses a connection with first byte ${bytes[0]} and logs that`, async () => {
    const { client, served, dials, log } = serveClient(serve);
    await client.write(bytes);
    await served;
    assert.deepEqual(dials.made, []);
    assert.equal(log.lines[0]?.event, event);
    await assert.rejects(client.read(new Uint8Array(1)));
  });
}
