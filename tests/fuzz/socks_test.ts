import { fuzzRuns } from "../support/fuzz_runs.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalHost, formatIp, PosternError } from "../../src/words/mod.ts";
import type { Decode } from "../../src/core/mod.ts";
import { serveMixed } from "../../src/listeners/mod.ts";
import {
  decodeSocks4Reply,
  decodeSocks4Request,
  decodeSocks5Choice,
  decodeSocks5Credentials,
  decodeSocks5Datagram,
  decodeSocks5Greeting,
  decodeSocks5Reply,
  decodeSocks5Request,
  decodeSocks5Verdict,
  encodeSocks4Request,
  encodeSocks5Credentials,
  encodeSocks5Datagram,
  encodeSocks5Greeting,
  encodeSocks5Reply,
  encodeSocks5Request,
} from "../../src/wire/mod.ts";
import { serveClient } from "../support/fake_dial.ts";
import { readAll } from "../support/memory_conn.ts";

const sentName = fc.string({
  unit: fc.constantFrom(..."abcXYZ019-._é日"),
  minLength: 1,
  maxLength: 80,
}).filter((text) => new TextEncoder().encode(text).length <= 255);
const isHost = (host: ReturnType<typeof canonicalHost>) => typeof host === "string";
const name = sentName.map(canonicalHost).filter(isHost);
const v4 = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => formatIp(bytes));
const v6 = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => formatIp(bytes));
const port = fc.integer({ min: 0, max: 65535 });
const command = fc.integer({ min: 0, max: 255 });
const plain = { noNullPrototype: true };
const target = fc.record({ host: fc.oneof(name, v4, v6), port }, plain);
const junk = fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes));
const text = fc.string({ maxLength: 60 }).filter((text) => text.isWellFormed());

/** Checks that decoding reverses encoding, ignores the bytes that follow, and asks for more at every cut. */
function checkLaws<T>(decode: Decode<T>, value: T, bytes: Uint8Array<ArrayBuffer>): void {
  assert.deepEqual(decode(bytes), { value, used: bytes.length });
  assert.deepEqual(decode(Uint8Array.of(...bytes, 5, 0, 1)), { value, used: bytes.length });
  for (let cut = 0; cut < bytes.length; cut++) assert.equal(decode(bytes.subarray(0, cut)), undefined);
}

Deno.test("socks5 reads its own output and asks for more at every cut", () => {
  fc.assert(fc.property(fc.record({ command, target }, plain), (request) => {
    checkLaws(decodeSocks5Request, request, encodeSocks5Request(request));
  }));
  fc.assert(fc.property(sentName, (host) => {
    const read = () => decodeSocks5Request(encodeSocks5Request({ command: 1, target: { host, port: 1 } }));
    const expected = canonicalHost(host);
    if (typeof expected === "string") assert.equal(read()?.value.target.host, expected);
    else assert.throws(read, PosternError);
  }));
  fc.assert(fc.property(command, target, (code, bound) => {
    checkLaws(decodeSocks5Reply, { code, bound }, encodeSocks5Reply(code, bound));
  }));
  fc.assert(fc.property(target, junk, (target, data) => {
    const bytes = encodeSocks5Datagram(target, data);
    const header = bytes.slice(0, bytes.length - data.length);
    checkLaws(decodeSocks5Datagram, { fragment: 0, target }, header);
    assert.deepEqual(bytes.subarray(header.length), data);
  }));
  fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 255 }), (methods) => {
    checkLaws(decodeSocks5Greeting, { methods }, encodeSocks5Greeting({ methods }));
  }));
  fc.assert(fc.property(fc.record({ user: text, password: text }, plain), (credentials) => {
    checkLaws(decodeSocks5Credentials, credentials, encodeSocks5Credentials(credentials));
  }));
});

Deno.test("socks4 reads its own output and asks for more at every cut", () => {
  const user = text.filter((text) => !text.includes("\0"));
  const isNamed = (host: string) => /^0\.0\.0\.[1-9]/.test(host);
  const reachable = target.filter(({ host }) => !isNamed(host));
  fc.assert(fc.property(fc.record({ command, target: reachable, user }, plain), (request) => {
    checkLaws(decodeSocks4Request, request, encodeSocks4Request(request));
  }));
});

const decoders: Record<string, Decode<unknown>> = {
  "socks4.decodeRequest": decodeSocks4Request,
  "socks4.decodeReply": decodeSocks4Reply,
  "socks5.decodeGreeting": decodeSocks5Greeting,
  "socks5.decodeChoice": decodeSocks5Choice,
  "socks5.decodeCredentials": decodeSocks5Credentials,
  "socks5.decodeVerdict": decodeSocks5Verdict,
  "socks5.decodeRequest": decodeSocks5Request,
  "socks5.decodeReply": decodeSocks5Reply,
  "socks5.decodeDatagram": decodeSocks5Datagram,
};

for (const [label, decode] of Object.entries(decoders)) {
  Deno.test(`${label}() returns a value, asks for more or throws protocol for random bytes`, () => {
    const plausible = junk.map((bytes) => {
      bytes[0] = label.startsWith("socks4") ? 4 : label.endsWith("Credentials") ? 1 : 5;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(junk, plausible), (bytes) => {
        try {
          const decoded = decode(bytes);
          if (decoded) assert(decoded.used > 0 && decoded.used <= bytes.length);
        } catch (error) {
          assert(error instanceof PosternError && error.code === "protocol", String(error));
        }
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });
}

const hello = fc.oneof(
  fc.record({ command: fc.constantFrom(1, 1, 1, 2, 3, 9, 0xf0, 0xf1), target }).map((request) =>
    Uint8Array.of(5, 1, 0, ...encodeSocks5Request(request))
  ),
  fc.record({ command: fc.constantFrom(1, 1, 1, 2, 0xf0), target, user: fc.constant("u") }).map(
    encodeSocks4Request,
  ),
);
const edit = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });

/** Input of clients: valid and damaged requests, and random bytes with a plausible first byte. */
const input = fc.oneof(
  fc.tuple(hello, fc.array(edit, { maxLength: 2 }), junk).map(([bytes, edits, after]) => {
    for (const { at, byte } of edits) bytes[at % bytes.length] = byte;
    return Uint8Array.of(...bytes, ...after);
  }),
  fc.tuple(fc.constantFrom(4, 5), junk).map(([first, rest]) => Uint8Array.of(first, ...rest)),
);

Deno.test("serveMixed() ends for any SOCKS client and forwards only the client's bytes", async () => {
  await fc.assert(
    fc.asyncProperty(
      input,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 }),
      fc.boolean(),
      async (bytes, cuts, isAbrupt) => {
        const { client, served, dials, clock } = serveClient(serveMixed);
        const written = writePieces(client.write.bind(client), bytes, cuts);
        await written.catch((error) => assert(error instanceof Error));
        await clock.advance(0);
        if (isAbrupt) client.abort();
        else await client.closeWrite();
        for (const { target } of dials.made) {
          const got = await readAll(target).catch(() => undefined);
          if (got) assert.deepEqual(got, bytes.subarray(bytes.length - got.length));
          await target[Symbol.asyncDispose]();
        }
        await clock.advance(60_000);
        await served;
        assert(dials.made.length <= 1);
        for (const { outcome } of dials.made) assert.notEqual(outcome, undefined);
        assert.equal(clock.waiting, 0);
      },
    ),
    { numRuns: fuzzRuns(1000) },
  );
});

async function writePieces(
  write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>,
  bytes: Uint8Array<ArrayBuffer>,
  cuts: readonly number[],
): Promise<void> {
  let at = 0;
  for (const cut of cuts) {
    await write(bytes.subarray(at, at + cut));
    at += cut;
  }
  await write(bytes.subarray(at));
}
