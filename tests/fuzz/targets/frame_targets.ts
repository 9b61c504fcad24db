import assert from "node:assert/strict";
import { HpackDecoder, HpackEncoder } from "../../../src/wire/http2/hpack.ts";
import { Http2Session, readMessageHead } from "../../../src/wire/mod.ts";
import { decodePacket, encodePacket } from "../../../src/konnectivity/packets.ts";
import { decodeSshMuxAnswer } from "../../../src/ssh/openssh/ssh_mux.ts";
import { readSshPackets, sshPacketSize } from "../../../src/ssh/openssh/ssh_packets.ts";
import { clientPreface } from "../../../src/wire/http2/http2_frames.ts";
import { type Bytes, decoding, type FuzzTarget, inPieces, refusedOr } from "../fuzz_target.ts";
import { forwardReading, readAll, type Reading, spdyReading, webSocketReading } from "../readings.ts";

/** Readers of frames and packets of multiplexed protocols. */
export const frameTargets: readonly FuzzTarget[] = [
  {
    name: "spdy",
    words: [
      "\x80\x03\x00\x01\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00",
      ...[
        "\x80\x03\x00\x02",
        "\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x05",
        "\x80\x03\x00\x04",
      ],
      ...[
        "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x02",
        "\x80\x03\x00\x07\x00\x00\x00\x08",
        "\x80\x03\x00\x09",
      ],
      ...["\x00\x00\x00\x01\x01\x00\x00\x00", "\x00\x00\x00\x01\x00\x00\x00\x02ab", "\x78\xbb"],
    ],
    laws: (input) => {
      sameInPieces(() => spdyReading("client"), input);
      sameInPieces(() => spdyReading("server"), input);
    },
  },
  {
    name: "websocket",
    words: [
      ...[
        "\x82\x02\x00ab",
        "\x82\x7e\x01\x00",
        "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
        "\x89\x00",
        "\x8a\x01a",
      ],
      ...[
        "\x88\x02\x03\xe8",
        "\x02\x01a",
        "\x80\x01b",
        "\x00\x01c",
        "\x82\x82\x01\x02\x03\x04ab",
        "\x81\x01\xff",
      ],
    ],
    laws: (input) => {
      sameInPieces(() => webSocketReading("client"), input);
      sameInPieces(() => webSocketReading("server"), input);
      sameInPieces(forwardReading, input);
    },
  },
  {
    name: "http2",
    words: [
      ...[
        "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        "\x00\x00\x00\x04\x01\x00\x00\x00\x00",
        "\x00\x00\x08\x06\x00\x00\x00\x00\x00",
      ],
      ...[
        "\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x10\x00",
        "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",
      ],
      ...[
        "\x00\x00\x03\x01\x05\x00\x00\x00\x01\x82\x86\x84",
        "\x00\x00\x02\x00\x01\x00\x00\x00\x01ab",
        "\x00\x00\x01\x09\x04\x00\x00\x00\x01\x82",
      ],
      ...[
        "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00",
        "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00",
      ],
    ],
    laws: (input) => {
      for (const role of ["server", "client"] as const) {
        // After an error a session returns no events; until then the pieces do not matter.
        const whole = http2Events(role, [input]);
        const pieces = http2Events(role, inPieces(input));
        assert.equal(pieces === undefined, whole === undefined);
        assert.deepEqual(pieces, whole);
      }
    },
  },
  {
    name: "hpack",
    words: [
      "\x82",
      "\x86\x84",
      "\x40\x01a\x01b",
      "\x00\x01a\x01b",
      "\x10\x01a\x01b",
      "\x3f\xe1\x1f",
      "\x20",
      "\xbe",
      "\x7f\x00",
      "\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
    ],
    laws: (input) => {
      const decoder = new HpackDecoder();
      const read = refusedOr(() => decoder.decode(input, 4096));
      if (!read) return;
      const size = read.fields.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
      assert.ok(size <= 4096);
      const again = new HpackDecoder().decode(new HpackEncoder().encode([...read.fields]), 1 << 20);
      assert.deepEqual(again.fields, read.fields);
      // The second list uses the state that the first one left.
      refusedOr(() => decoder.decode(input, 4096));
    },
  },
  {
    name: "konnectivity",
    words: [
      "\x08\x01\x12",
      "\x08\x03\x22",
      "\x0a\x03tcp",
      "\x12\x0e127.0.0.1:8080",
      "\x10\x2a",
      "\x18\x01",
      "\x1a\x02hi",
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
      "\x00\x00\x00\x00\x05",
    ],
    laws: (input) => {
      if (input.length >= 5) {
        const { length } = readMessageHead(input, 0);
        // The header determines the end of a message; bytes after it are invalid.
        refusedOr(() => decodePacket(input.slice(5, 5 + length)));
      }
      const packet = refusedOr(() => decodePacket(input));
      if (!packet || packet.type === "unknown") return;
      assert.deepEqual(decodePacket(encodePacket(packet)), packet);
    },
  },
  {
    name: "ssh",
    words: [
      "\x00\x00\x00\x08\x80\x00\x00\x01\x00\x00\x00\x00",
      "\x00\x00\x00\x0c\x80\x00\x00\x02",
      "\x00\x00\x00\x01\x5d",
      "\x00\x00\x00\x09\x5e",
      "\x00\x00\x00\x00",
    ],
    laws: (input) => {
      decoding(decodeSshMuxAnswer, input);
      sshPacketSize(input);
      let bytes = 0;
      const used = refusedOr(() =>
        readSshPackets(input.slice(), (_type, payload) => {
          bytes += payload.length;
        })
      );
      if (used !== undefined) assert.ok(used >= 0 && used <= input.length && bytes <= used);
    },
  },
];

/** Checks that the reader returns the same for the whole input and for pieces, or refuses both. */
function sameInPieces(make: () => Reading, input: Bytes): void {
  const whole = refusedOr(() => readAll(make(), [input]));
  const pieces = refusedOr(() => readAll(make(), inPieces(input)));
  assert.deepEqual(pieces, whole);
}

/** Returns all events of a session with counted data, or undefined after an error. */
function http2Events(role: "server" | "client", pieces: readonly Bytes[]): unknown[] | undefined {
  const limits = { streamWindow: 65_535, connectionWindow: 65_535, maxStreams: 10, maxFields: 16_384 };
  const session = new Http2Session({ role, ...limits });
  if (role === "server") session.receive(clientPreface.slice(), 0);
  const told: unknown[] = [];
  const data = new Map<number, number>();
  return refusedOr(() => {
    for (const piece of pieces) {
      for (const event of session.receive(piece, 0)) {
        if (event.type !== "data") {
          told.push(event);
          continue;
        }
        data.set(event.stream, (data.get(event.stream) ?? 0) + event.bytes.length);
        session.consumed(event.stream, event.bytes.length);
      }
      session.takeOutput();
    }
    return [...told, ...data];
  });
}
