import assert from "node:assert/strict";
import fc from "fast-check";
import { PosternError } from "../../src/words/mod.ts";
import { decodePacket, encodePacket, type Packet } from "../../src/konnectivity/packets.ts";
import { fromHex, toHex } from "../support/hex.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

// Each law is tested with all inputs of one run, because starting the program for each input would take long.

type Known = Exclude<Packet, { type: "unknown" }>;
type Upstream = Exclude<Known, { type: "window" | "end" }>;

/** The output for one line of the program with protoc's code. */
interface Answer {
  readonly packet?: { readonly type: string | number; readonly [content: string]: unknown };
  readonly hex: string;
  readonly unknown?: string;
  readonly error?: string;
}

const count = 3000;
const id = fc.oneof(
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
  fc.bigInt({ min: 0n, max: 300n }),
  fc.constantFrom(0n, -1n, (1n << 28n) - 1n, 1n << 28n, 1n << 35n, (1n << 63n) - 1n, -(1n << 63n)),
);
const text = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), fc.constantFrom("", "\ufefftcp", "\0"));
const data = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.integer({ min: 16_000, max: 17_000 }).map((length) => new Uint8Array(length).fill(length)),
).map((bytes) => Uint8Array.from(bytes));

const upstream: fc.Arbitrary<Upstream> = fc.oneof(
  fc.record({ type: fc.constant("dialRequest"), protocol: text, address: text, random: id }),
  fc.record({ type: fc.constant("dialResponse"), error: text, connectId: id, random: id }),
  fc.record({ type: fc.constant("closeRequest"), connectId: id }),
  fc.record({ type: fc.constant("closeResponse"), error: text, connectId: id }),
  fc.record({ type: fc.constant("data"), connectId: id, error: text, data }),
  fc.record({ type: fc.constant("closeDial"), random: id }),
  fc.record({ type: fc.constant("drain") }),
);
const ours: fc.Arbitrary<Known> = fc.oneof(
  fc.record({ type: fc.constant("window"), connectId: id, bytes: fc.nat() }),
  fc.record({ type: fc.constant("end"), connectId: id }),
);

peerTest(
  "Packets have the same meaning for protoc's code and for ours",
  ["konn_packets"],
  async ({ konn_packets }, t) => {
    await t.step("it decodes our packets and encodes them to the same bytes", async () => {
      const packets = sampled(upstream);
      const written = packets.map((packet) => toHex(encodePacket(packet)));
      const answers = await ask(konn_packets, written);
      for (const [at, packet] of packets.entries()) {
        assert.deepEqual(answers[at], { packet: jsonOf(packet), hex: written[at] }, written[at]);
      }
    });

    await t.step("we decode its packets", async () => {
      const packets = sampled(upstream);
      const answers = await ask(konn_packets, packets.map((packet) => JSON.stringify(jsonOf(packet))));
      for (const [at, packet] of packets.entries()) {
        const { hex } = answers[at] ?? { hex: "" };
        assert.deepEqual(decodePacket(fromHex(hex)), { ...packet }, hex);
      }
    });

    await t.step(
      "our additional packets pass through it as unknown fields",
      async () => {
        const packets = sampled(ours);
        const written = packets.map((packet) => toHex(encodePacket(packet)));
        const answers = await ask(konn_packets, written);
        for (const [at, packet] of packets.entries()) {
          assert.equal(answers[at]?.hex, written[at]);
          assert.deepEqual(answers[at]?.packet, { type: packet.type === "window" ? 1001 : 1002 });
          assert.notEqual(answers[at]?.unknown, undefined);
        }
      },
    );

    await t.step("both accept the same packet from any sequence of fields, or both reject it", async () => {
      const inputs = [...sampled(fields), ...sampled(spoiled), ...sampled(junk)];
      const answers = await ask(konn_packets, inputs.map(toHex));
      let read = 0, refused = 0;
      for (const [at, input] of inputs.entries()) {
        const { packet, error } = answers[at] ?? { hex: "" };
        const said = decoded(input);
        // Invalid text is shown as well as possible; groups, which have been obsolete for ten years, are
        // rejected.
        if (
          error?.includes("invalid UTF-8") || (typeof said === "string" && /has the type [34]/.test(said))
        ) continue;
        if (typeof said === "string") {
          assert.ok(error !== undefined, `${toHex(input)}: ${said}, yet it reads it`);
        } else {
          assert.equal(error, undefined, toHex(input));
          assert.deepEqual(
            typeof packet?.type === "string" ? jsonOf(said) : numberOf(said),
            contentOf(packet),
          );
        }
        typeof said === "string" ? refused++ : read++;
      }
      assert.ok(read > count && refused > count / 10, `${read} were read, ${refused} refused`);
    });
  },
);

/**
 * Unusual sequences of fields: reordered, repeated, of wrong types, unknown, from several packets at once.
 */
const fields = fc.array(
  fc.oneof(
    fc.tuple(fc.constant(1), fc.oneof(id, fc.nat({ max: 7 }).map(BigInt))).map(([n, value]) =>
      number(n, value)
    ),
    upstream.map((packet) => encodePacket(packet)),
    fc.tuple(fc.integer({ min: 1, max: 9 }), inner()).map(([n, content]) => bytes(n, content)),
    other(fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 0x1fff_ffff }))),
  ),
  { maxLength: 6 },
).map(joined);

/** Packets with a changed byte, or truncated. */
const spoiled = fc.tuple(upstream, fc.nat(), fc.nat({ max: 255 }), fc.boolean()).map(
  ([packet, at, value, isCut]) => {
    const whole = encodePacket(packet);
    if (isCut) return whole.slice(0, at % (whole.length + 1));
    whole[at % whole.length] = value;
    return whole;
  },
);

const junk = fc.uint8Array({ maxLength: 24 }).map((array) => Uint8Array.from(array));

function inner(): fc.Arbitrary<Uint8Array> {
  return fc.array(
    fc.oneof(
      fc.tuple(fc.integer({ min: 1, max: 4 }), id).map(([n, value]) => number(n, value)),
      fc.tuple(fc.integer({ min: 1, max: 4 }), text).map(([n, value]) =>
        bytes(n, new TextEncoder().encode(value))
      ),
      other(fc.integer({ min: 1, max: 5 })),
    ),
    { maxLength: 5 },
  ).map(joined);
}

/** A field of fixed size. */
function other(numbers: fc.Arbitrary<number>): fc.Arbitrary<Uint8Array> {
  return fc.tuple(numbers, fc.constantFrom(1, 5)).map(([n, kind]) =>
    joined([varint(BigInt(n) << 3n | BigInt(kind)), new Uint8Array(kind === 1 ? 8 : 4).fill(n)])
  );
}

function number(field: number, value: bigint): Uint8Array {
  return joined([varint(BigInt(field) << 3n), varint(value)]);
}

function bytes(field: number, content: Uint8Array): Uint8Array {
  return joined([varint(BigInt(field) << 3n | 2n), varint(BigInt(content.length)), content]);
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.from([...bytes, Number(rest)]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function sampled<Value>(values: fc.Arbitrary<Value>): Value[] {
  return fc.sample(values, count);
}

async function ask(program: string, lines: readonly string[]): Promise<Answer[]> {
  const { code, stdout, stderr } = await runPeer(program, [], {
    stdin: lines.map((line) => `${line}\n`).join(""),
  });
  assert.equal(code, 0, stderr);
  const answers = stdout.trim().split("\n").map((line): Answer => JSON.parse(line));
  assert.equal(answers.length, lines.length);
  return answers;
}

function decoded(input: Uint8Array<ArrayBuffer>): Packet | string {
  try {
    return decodePacket(input);
  } catch (error) {
    assert.ok(error instanceof PosternError && error.code === "protocol", String(error));
    return error.message;
  }
}

/** A packet in protobuf's JSON form. */
function jsonOf(packet: Packet): Answer["packet"] {
  switch (packet.type) {
    case "dialRequest": {
      const { protocol, address, random } = packet;
      return { type: "DIAL_REQ", dialRequest: { protocol, address, random: String(random) } };
    }
    case "dialResponse": {
      const { error, connectId, random } = packet;
      const dialResponse = { error, connectID: String(connectId), random: String(random) };
      return { type: "DIAL_RSP", dialResponse };
    }
    case "closeRequest":
      return { type: "CLOSE_REQ", closeRequest: { connectID: String(packet.connectId) } };
    case "closeResponse": {
      const { error, connectId } = packet;
      return { type: "CLOSE_RSP", closeResponse: { error, connectID: String(connectId) } };
    }
    case "data": {
      const { connectId, error, data } = packet;
      return {
        type: "DATA",
        data: { connectID: String(connectId), error, data: btoa(String.fromCharCode(...data)) },
      };
    }
    case "closeDial":
      return { type: "DIAL_CLS", closeDial: { random: String(packet.random) } };
    case "drain":
      return { type: "DRAIN", drain: {} };
    default:
      return numberOf(packet);
  }
}

/** The number of a packet that protoc's code does not name. */
function numberOf(packet: Packet): { type: string | number } {
  if (packet.type === "unknown") return { type: Number(packet.number) };
  return { type: packet.type === "window" ? 1001 : packet.type === "end" ? 1002 : packet.type };
}

/** The content that a packet's type implies; missing content counts as empty. */
function contentOf(packet: Answer["packet"]): Answer["packet"] {
  const { type } = packet ?? { type: "" };
  if (typeof type === "number") return { type };
  const empty = empties.find((empty) => jsonOf(empty)?.type === type);
  assert.ok(empty);
  const [name = ""] = Object.keys(jsonOf(empty) ?? {}).filter((key) => key !== "type");
  return { type, [name]: packet?.[name] ?? jsonOf(empty)?.[name] };
}

const nothing = { connectId: 0n, random: 0n, error: "", protocol: "", address: "", data: new Uint8Array(0) };
const empties: readonly Upstream[] = [
  { type: "dialRequest", ...nothing },
  { type: "dialResponse", ...nothing },
  { type: "closeRequest", ...nothing },
  { type: "closeResponse", ...nothing },
  { type: "data", ...nothing },
  { type: "closeDial", ...nothing },
  { type: "drain" },
];
