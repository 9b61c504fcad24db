import assert from "node:assert/strict";
import fc from "fast-check";
import { formatIp, PosternError } from "../../src/words/mod.ts";
import type { DnsAnswers } from "../../src/dns/mod.ts";
import { replyTo } from "../../src/dns/dns_reply.ts";
import {
  decodeDnsMessage,
  type DnsData,
  type DnsMessage,
  type DnsRecord,
  encodeDnsMessage,
  isDnsName,
} from "../../src/dns/mod.ts";
import { dnsTypeCodes } from "../../src/dns/messages/dns_records.ts";
import type { DnsQuestion } from "../../src/dns/messages/dns_message.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";

const plain = { noNullPrototype: true };
const label = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_*"), minLength: 1, maxLength: 20 });
const odd = fc.constantFrom("\\046", "\\000", "\\255", "a\\032b", "\\092");
const name = fc.array(fc.oneof({ weight: 9, arbitrary: label }, odd), { maxLength: 8 })
  .map((labels) => labels.join(".")).filter(isDnsName);
const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const ip = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((b) => formatIp(b));
const raw = fc.uint8Array({ maxLength: 40 }).map((bytes) => Uint8Array.from(bytes));
/** The number of an unnamed type. */
const strange = u16.filter((code) => !Object.values<number>(dnsTypeCodes).includes(code));

const data: fc.Arbitrary<DnsData> = fc.oneof(
  fc.record({ type: fc.constant("A" as const), address: ip(4) }, plain),
  fc.record({ type: fc.constant("AAAA" as const), address: ip(16) }, plain),
  fc.record({ type: fc.constantFrom("NS" as const, "CNAME" as const, "PTR" as const), target: name }, plain),
  fc.record(
    { type: fc.constant("SRV" as const), priority: u16, weight: u16, port: u16, target: name },
    plain,
  ),
  fc.record({
    type: fc.constant("SOA" as const),
    primary: name,
    mailbox: name,
    serial: u32,
    refresh: u32,
    retry: u32,
    expire: u32,
    minimum: u32,
  }, plain),
  fc.record({ type: strange, data: raw }, plain),
);
const record: fc.Arbitrary<DnsRecord> = fc.tuple(
  fc.record({ name, ttl: u32 }, plain),
  fc.option(u16.filter((kind) => kind !== 1), { nil: undefined }),
  data,
).map(([owned, kind, data]) => ({ ...owned, ...(kind !== undefined && { class: kind }), ...data }));
const records = fc.array(record, { maxLength: 5 });
const question: fc.Arbitrary<DnsQuestion> = fc.record({
  name,
  type: fc.oneof(fc.constantFrom("A" as const, "AAAA" as const, "SRV" as const, "ANY" as const), strange),
  class: u16,
}, plain);
const edns = fc.record({
  size: u16,
  version: fc.integer({ min: 0, max: 255 }),
  wantsDnssec: fc.boolean(),
  options: raw,
}, plain);
const header = {
  id: u16,
  isResponse: fc.boolean(),
  opcode: fc.integer({ min: 0, max: 15 }),
  isAuthoritative: fc.boolean(),
  isTruncated: fc.boolean(),
  wantsRecursion: fc.boolean(),
  offersRecursion: fc.boolean(),
  isAuthentic: fc.boolean(),
  isUnchecked: fc.boolean(),
  questions: fc.array(question, { maxLength: 3 }),
  answers: records,
  authorities: records,
  additionals: records,
};
const message: fc.Arbitrary<DnsMessage> = fc.oneof(
  fc.record({ ...header, rcode: fc.integer({ min: 0, max: 15 }) }, plain),
  fc.record({ ...header, rcode: fc.integer({ min: 0, max: 4095 }), edns }, plain),
);

Deno.test("dns reads its own output before any bytes, and asks for more at every cut", () => {
  fc.assert(
    fc.property(message, (value) => {
      const bytes = encodeDnsMessage(value);
      assert.deepEqual(decodeDnsMessage(bytes), { value, used: bytes.length });
      assert.deepEqual(decodeDnsMessage(Uint8Array.of(...bytes, 0xc0, 0)), { value, used: bytes.length });
      for (let cut = 0; cut < bytes.length; cut++) {
        assert.equal(decodeDnsMessage(bytes.subarray(0, cut)), undefined);
      }
    }),
    { numRuns: fuzzRuns(200) },
  );
});

Deno.test("encodeMessage() respects its limit and writes a readable message", () => {
  fc.assert(
    fc.property(message, fc.integer({ min: 512, max: 1500 }), (value, limit) => {
      const bytes = encodeDnsMessage(value, { limit });
      const read = decodeDnsMessage(bytes);
      assert.equal(read?.used, bytes.length);
      const fixed = 12 + 3 * 260 + 11 + 40;
      assert(bytes.length <= Math.max(limit, fixed));
      const { answers = [], authorities = [] } = read?.value ?? {};
      assert.deepEqual(answers, value.answers.slice(0, answers.length));
      const isWhole = answers.length === value.answers.length &&
        authorities.length === value.authorities.length;
      assert.equal(read?.value.isTruncated, value.isTruncated || !isWhole);
    }),
    { numRuns: fuzzRuns(300) },
  );
});

/** Messages with changed bytes after a plausible header, and random bytes. */
const input = fc.oneof(
  fc.tuple(message, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }))
    .map(([value, edits]) => {
      const bytes = encodeDnsMessage(value);
      for (const [at, byte] of edits) bytes[at % bytes.length] = byte;
      return bytes;
    }),
  fc.array(fc.constantFrom(0, 1, 12, 41, 63, 192, 255), { maxLength: 200 })
    .map((tail) => Uint8Array.of(1, 2, 1, 0, 0, 1, 0, 2, 0, 0, 0, 1, ...tail)),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)),
);

Deno.test("decodeMessage() returns a value, asks for more or throws protocol for random bytes", () => {
  fc.assert(
    fc.property(input, (bytes) => {
      try {
        const decoded = decodeDnsMessage(bytes);
        if (!decoded) return;
        assert(decoded.used >= 12 && decoded.used <= bytes.length);
        // Encoding the value and decoding it again gives the same value.
        const again = decodeDnsMessage(encodeDnsMessage(decoded.value))?.value;
        assert.deepEqual(again, decoded.value);
      } catch (error) {
        assert(error instanceof PosternError && error.code === "protocol", String(error));
      }
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

Deno.test("decodeMessage() reads chained pointers in time proportional to the message", () => {
  // The worst case in 64 KiB: all questions are pointers to one long name.
  const long = Uint8Array.from({ length: 254 }, (_, at) => at % 2 === 0 ? 1 : 97);
  const count = Math.floor((0xffff - 12 - 259) / 6);
  const bytes = new Uint8Array(12 + 259 + 6 * count);
  bytes.set([0, 0, 1, 0, (count + 1) >> 8, (count + 1) & 255]);
  bytes.set(long, 12);
  for (let at = 12 + 259; at < bytes.length; at += 6) bytes.set([0xc0, 12, 0, 1, 0, 1], at);
  const decoded = decodeDnsMessage(bytes);
  assert.equal(decoded?.value.questions.length, count + 1);
  assert.equal(decoded?.value.questions.at(-1)?.name.length, 253);
});

Deno.test("replyTo() sends any client at most one readable message within its size limit", async () => {
  const answers: DnsAnswers = {
    answer({ name, type }) {
      if (name.length % 3 === 0) return { kind: "notOurs" };
      if (name.length % 3 === 1) return { kind: "unknown", zone: "example" };
      const record = { name, ttl: 5, type: "A", address: "192.0.2.1" } as const;
      return type === "A" || type === "ANY"
        ? { kind: "records", zone: "example", records: new Array<DnsRecord>(60).fill(record) }
        : { kind: "nodata", zone: "example" };
    },
  };
  const clock = new FakeClock();
  const { signal } = new AbortController();
  await fc.assert(
    fc.asyncProperty(fc.oneof(input, message.map((value) => encodeDnsMessage(value))), async (bytes) => {
      const { bytes: reply, outcome } = await replyTo(bytes, { answers, clock, signal });
      if (!reply) return assert.equal(outcome, "dropped");
      const read = decodeDnsMessage(reply);
      assert.equal(read?.used, reply.length);
      assert.equal(read?.value.isResponse, true);
      assert.deepEqual([...reply.subarray(0, 2)], [...bytes.subarray(0, 2)]);
      // A client gets only answers to its question.
      assert((read?.value.questions.length ?? 0) <= 1);
      assert(reply.length <= 4096);
    }),
    { numRuns: fuzzRuns(1000) },
  );
  assert.equal(clock.waiting, 0);
});
