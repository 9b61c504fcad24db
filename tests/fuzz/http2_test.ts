import assert from "node:assert/strict";
import fc from "fast-check";
import { PosternError } from "../../src/words/mod.ts";
import { type HeaderField, type Http2Event, Http2Session } from "../../src/wire/mod.ts";
import { decodePacket, encodePacket } from "../../src/konnectivity/packets.ts";
import { HpackDecoder, HpackEncoder } from "../../src/wire/http2/hpack.ts";
import { clientPreface } from "../../src/wire/http2/http2_frames.ts";
import { Http2Output } from "../../src/wire/http2/http2_output.ts";
import { huffmanDecode, huffmanEncode } from "../../src/wire/http2/huffman.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";

const bytes = (most: number) => fc.uint8Array({ maxLength: most }).map((array) => Uint8Array.from(array));
const text = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 40,
});
const name = fc.oneof(fc.constantFrom("a", "b", "cookie", ":path", "x-long-name", "content-type"), text);
const fields = fc.array(fc.tuple(name, text) as fc.Arbitrary<HeaderField>, { maxLength: 12 });
const limits = { streamWindow: 65_535, connectionWindow: 65_535, maxStreams: 10, maxFields: 16_384 };

Deno.test("the Huffman decoder reverses the encoder, and reads or refuses random bytes", () => {
  fc.assert(
    fc.property(bytes(100), (plain) => assert.deepEqual(huffmanDecode(huffmanEncode(plain)), plain)),
    {
      numRuns: fuzzRuns(300),
    },
  );
  fc.assert(
    fc.property(bytes(60), (junk) => {
      const plain = huffmanDecode(junk);
      // Each text has exactly one valid code.
      if (plain) assert.deepEqual(huffmanEncode(plain), junk);
    }),
    { numRuns: fuzzRuns(1000) },
  );
});

Deno.test("HpackDecoder reads all lists of HpackEncoder with any table sizes", () => {
  const step = fc.oneof(fields, fc.integer({ min: 0, max: 4096 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const encoder = new HpackEncoder(), decoder = new HpackDecoder();
      for (const step of steps) {
        if (typeof step === "number") encoder.limitTable(step);
        else {
          assert.deepEqual(decoder.decode(encoder.encode(step), 1 << 20), {
            fields: step,
            isTooLarge: false,
          });
        }
      }
    }),
    { numRuns: fuzzRuns(300) },
  );
});

Deno.test("HpackDecoder returns fields or throws `protocol` for random bytes", () => {
  fc.assert(
    fc.property(bytes(200), (junk) => {
      try {
        const { fields } = new HpackDecoder().decode(junk, 4096);
        assert.ok(fields.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0) <= 4096);
      } catch (error) {
        assert.ok(error instanceof PosternError && error.code === "protocol", String(error));
      }
    }),
    { numRuns: fuzzRuns(1000) },
  );
});

/** Mostly valid frames, so that tests reach later states. */
const frame = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant(0),
      flags: fc.integer({ min: 0, max: 15 }),
      stream: small(),
      payload: bytes(300),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom(1, 9),
      flags: fc.constantFrom(0, 1, 4, 5, 5, 5, 0x25, 0x0d),
      stream: small(),
      payload: fc.oneof(
        fields.map((list) => new HpackEncoder().encode(list)),
        fc.constant(Uint8Array.of(0x82, 0x86, 0x84)),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom(2, 3, 4, 6, 7, 8, 10),
      flags: fc.constantFrom(0, 0, 1),
      stream: fc.oneof(fc.constant(0), small()),
      payload: fc.oneof(
        ...[0, 4, 5, 6, 8].map((size) => fc.uint8Array({ minLength: size, maxLength: size })),
      ),
    }),
  },
);

function small(): fc.Arbitrary<number> {
  return fc.constantFrom(0, 1, 1, 3, 5, 2);
}

/** Returns all events of a session, with joined data and the error at the end. */
function told(input: Uint8Array<ArrayBuffer>, cuts: readonly number[]): unknown[] {
  const session = new Http2Session({ role: "server", ...limits });
  const all: unknown[] = [];
  const data = new Map<number, number>();
  const take = (events: readonly Http2Event[]) => {
    for (const event of events) {
      if (event.type === "data") {
        data.set(event.stream, (data.get(event.stream) ?? 0) + event.bytes.length);
        session.consumed(event.stream, event.bytes.length);
      } else all.push(event);
    }
  };
  let at = 0;
  try {
    for (const cut of [...cuts, input.length]) {
      take(session.receive(input.slice(at, Math.max(at, cut)), 0));
      at = Math.max(at, cut);
      session.takeOutput();
    }
  } catch (error) {
    assert.ok(error instanceof PosternError && error.code === "protocol", String(error));
    // The session does not return events before the error in the same piece.
    return ["fault", error.message];
  }
  return [...all, ...data];
}

Deno.test("Http2Session returns the same events for any cuts and throws only `protocol`", () => {
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 25 }),
      fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 8 }).map((cuts) => cuts.sort((a, b) => a - b)),
      (frames, cuts) => {
        const output = new Http2Output();
        output.raw(clientPreface);
        output.frame(4, 0, 0, new Uint8Array(0));
        for (const { type, flags, stream, payload } of frames) output.frame(type, flags, stream, payload);
        const input = output.take().slice();
        const inside = cuts.filter((cut) => cut < input.length);
        assert.deepEqual(told(input, inside), told(input, []));
      },
    ),
    { numRuns: fuzzRuns(500) },
  );
});

Deno.test("Http2Session survives random bytes after its preface", () => {
  fc.assert(
    fc.property(bytes(400), (junk) => {
      const input = new Uint8Array(clientPreface.length + junk.length);
      input.set(clientPreface);
      input.set(junk, clientPreface.length);
      told(input, []);
    }),
    { numRuns: fuzzRuns(500) },
  );
});

Deno.test("the reader of Konnectivity packets reverses the writer, and reads random bytes or throws `protocol`", () => {
  const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const words = fc.string({ maxLength: 30 }).filter((text) =>
    text.isWellFormed() && !text.startsWith("\ufeff")
  );
  const packet = fc.oneof(
    fc.record({ type: fc.constant("dialRequest" as const), protocol: words, address: words, random: id }),
    fc.record({ type: fc.constant("dialResponse" as const), error: words, connectId: id, random: id }),
    fc.record({ type: fc.constant("closeRequest" as const), connectId: id }),
    fc.record({ type: fc.constant("closeResponse" as const), error: words, connectId: id }),
    fc.record({ type: fc.constant("data" as const), connectId: id, error: words, data: bytes(50) }),
    fc.record({ type: fc.constant("closeDial" as const), random: id }),
    fc.record({
      type: fc.constant("window" as const),
      connectId: id,
      bytes: fc.integer({ min: 0, max: 2 ** 31 }),
    }),
  );
  fc.assert(
    fc.property(packet, (packet) => {
      assert.deepEqual(decodePacket(encodePacket(packet)), { ...packet });
    }),
    { numRuns: fuzzRuns(500) },
  );
  fc.assert(
    fc.property(bytes(60), (junk) => {
      try {
        decodePacket(junk);
      } catch (error) {
        assert.ok(error instanceof PosternError && error.code === "protocol", String(error));
      }
    }),
    { numRuns: fuzzRuns(1000) },
  );
});
