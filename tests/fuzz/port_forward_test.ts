import assert from "node:assert/strict";
import fc from "fast-check";
import * as spdy from "../../src/wire/spdy/spdy_frames.ts";
import { PosternError } from "../../src/words/mod.ts";
import {
  webSocketClientFrame,
  webSocketClosePayload,
  webSocketOpcodes,
  webSocketServerFrame,
} from "../../src/wire/mod.ts";
import { Inflate } from "../../src/wire/spdy/inflate.ts";
import { SpdySession } from "../../src/wire/spdy/spdy_session.ts";
import { spdyDictionary } from "../../src/wire/spdy/spdy_dictionary.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { forwardReading, readAll, type Reading, spdyReading, webSocketReading } from "./readings.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const payload = fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes));
const junk = fc.uint8Array({ maxLength: 400 }).map((bytes) => Uint8Array.from(bytes));
const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 8 });
const word = fc.string({ unit: fc.constantFrom(..."abcxyz-"), minLength: 1, maxLength: 20 });

function joined(parts: readonly Uint8Array[]): Bytes {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/** Splits bytes into pieces. */
function cutUp(bytes: Bytes, places: readonly number[]): Bytes[] {
  const sorted = [0, ...places.filter((place) => place < bytes.length), bytes.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.slice(sorted[index], end));
}

/** All readers, each with valid bytes. */
const readers: Record<string, { make: () => Reading; valid: fc.Arbitrary<Bytes> }> = {
  "WebSocketReader of a client": { make: () => webSocketReading("client"), valid: messages("server") },
  "WebSocketReader of a server": { make: () => webSocketReading("server"), valid: messages("client") },
  "SpdySession of a client": { make: () => spdyReading("client"), valid: spdyBytes("server") },
  "SpdySession of a server": { make: () => spdyReading("server"), valid: spdyBytes("client") },
  "PortForwardV4": { make: forwardReading, valid: v4Bytes() },
};

for (const [name, { make, valid }] of Object.entries(readers)) {
  Deno.test(`${name} returns the same for any pieces`, () => {
    fc.assert(
      fc.property(valid, cuts, (bytes, places) => {
        const whole = readAll(make(), [bytes]);
        assert.deepEqual(readAll(make(), cutUp(bytes, places)), whole);
        assert.deepEqual(readAll(make(), Array.from(bytes, (byte) => Uint8Array.of(byte))), whole);
      }),
      { numRuns: fuzzRuns(300) },
    );
  });

  Deno.test(`${name} returns events or throws protocol for random and changed bytes`, () => {
    fc.assert(
      fc.property(fc.oneof(junk, valid), fc.nat(), fc.nat({ max: 255 }), cuts, (bytes, at, value, places) => {
        if (bytes.length > 0) bytes[at % bytes.length] = value;
        orProtocol(() => readAll(make(), cutUp(bytes, places)));
      }),
      { numRuns: fuzzRuns(300) },
    );
  });
}

Deno.test("Inflate returns data within its limit or throws protocol for random bytes", () => {
  const begin = new Uint8Array(spdyHeaders().slice(0, 6));
  fc.assert(
    fc.property(junk, fc.boolean(), (bytes, isStream) => {
      const stream = new Inflate({ dictionary: spdyDictionary(), limit: 1000 });
      const piece = isStream ? joined([begin, bytes]) : bytes;
      orProtocol(() => assert.ok(stream.take(piece).length <= 1000));
    }),
    { numRuns: fuzzRuns(300) },
  );
});

function orProtocol(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    assert.equal(error.code, "protocol");
  }
}

/** Complete or fragmented messages, with control frames between them. */
function messages(sender: "client" | "server"): fc.Arbitrary<Bytes> {
  const frame = (opcode: number, bytes: Bytes, isFinal = true) => {
    const made = sender === "server"
      ? webSocketServerFrame(opcode, bytes)
      : webSocketClientFrame(opcode, bytes.length, (into) => into.set(bytes));
    if (!isFinal) made[0] = (made[0] ?? 0) & 0x7f;
    return made;
  };
  const small = fc.uint8Array({ maxLength: 125 }).map((bytes) => Uint8Array.from(bytes));
  const message = fc.oneof(
    payload.map((bytes) => frame(webSocketOpcodes.binary, bytes)),
    small.map((bytes) => frame(webSocketOpcodes.ping, bytes)),
    fc.tuple(payload, small, payload).map(([first, ping, second]) =>
      joined([
        frame(webSocketOpcodes.text, first, false),
        frame(webSocketOpcodes.ping, ping),
        frame(webSocketOpcodes.continuation, second),
      ])
    ),
    fc.constant(frame(webSocketOpcodes.close, webSocketClosePayload(1000, "done"))),
  );
  return fc.array(message, { maxLength: 6 }).map(joined);
}

/** Frames that a peer may send. */
function spdyBytes(sender: "client" | "server"): fc.Arbitrary<Bytes> {
  const stream = fc.constantFrom(1, 2, 3, 4, 5);
  const frame = fc.oneof(
    fc.tuple(stream, payload).map(([id, bytes]) => joined([spdy.dataHead(id, bytes.length), bytes])),
    stream.map((id) => spdy.dataHead(id, 0, spdy.flagFin)),
    stream.map((id) => spdy.rstStreamFrame(id, spdy.resetCodes.cancel)),
    fc.nat({ max: 9 }).map((id) => spdy.pingFrame(id)),
    stream.map((id) => spdy.goAwayFrame(id)),
  );
  const opens = fc.array(fc.tuple(word, word), { maxLength: 4 }).map((headers) => {
    const opening = new SpdySession(sender);
    return opening.open(new Map(headers)).bytes;
  });
  return fc.tuple(opens, fc.array(frame, { maxLength: 8 })).map(([open, frames]) =>
    joined([open, ...frames])
  );
}

/** The compressed headers of a first stream. */
function spdyHeaders(): Uint8Array {
  return new SpdySession("client").open([["port", "80"]]).bytes.subarray(18);
}

function v4Bytes(): fc.Arbitrary<Bytes> {
  const message = fc.tuple(fc.constantFrom(0, 1), payload).map(([channel, bytes]) =>
    webSocketServerFrame(webSocketOpcodes.binary, Uint8Array.of(channel, ...bytes))
  );
  return fc.array(message, { maxLength: 6 }).map(joined);
}
