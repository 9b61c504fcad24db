import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import {
  decodeDnsMessage,
  dnsFrameDecoder,
  type DnsMessage,
  type DnsRecord,
  encodeDnsFrame,
  encodeDnsMessage,
  isDnsName,
} from "../../../../src/dns/mod.ts";

type Message = DnsMessage;

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.replaceAll(/\s/g, "").match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

const plain: Message = {
  id: 0x1234,
  isResponse: false,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  wantsRecursion: true,
  offersRecursion: false,
  isAuthentic: false,
  isUnchecked: false,
  rcode: 0,
  questions: [],
  answers: [],
  authorities: [],
  additionals: [],
};
const answer: Message = { ...plain, isResponse: true, isAuthoritative: true };
const asked = { name: "web.example", type: "A", class: 1 } as const;
const question = "03 776562 07 6578616d706c65 00 0001 0001";

// The bytes come from dig, named and RFC 1035.
const messages: { name: string; hex: string; value: Message }[] = [
  {
    name: "a query",
    hex: `1234 0100 0001 0000 0000 0000 ${question}`,
    value: { ...plain, questions: [asked] },
  },
  {
    name: "a query for the root with EDNS and the bit for DNSSEC",
    hex: "1234 0120 0001 0000 0000 0001 00 0002 0001 00 0029 04d0 0000 8000 000c 000a 0008 0102030405060708",
    value: {
      ...plain,
      isAuthentic: true,
      questions: [{ name: "", type: "NS", class: 1 }],
      edns: { size: 1232, version: 0, wantsDnssec: true, options: fromHex("000a 0008 0102030405060708") },
    },
  },
  {
    name: "an answer with addresses of both families, compressed",
    hex: `1234 8500 0001 0002 0000 0000 ${question}
      c00c 0001 0001 00000005 0004 c0000201
      c00c 001c 0001 00000005 0010 20010db8000000000000000000000001`,
    value: {
      ...answer,
      questions: [asked],
      answers: [
        { name: "web.example", ttl: 5, type: "A", address: "192.0.2.1" },
        { name: "web.example", ttl: 5, type: "AAAA", address: "2001:db8::1" },
      ],
    },
  },
  {
    name: "NXDOMAIN with its SOA",
    hex: `1234 8503 0001 0000 0001 0000 ${question}
      c010 0006 0001 00000005 0026 02 6e73 c010 0a 686f73746d6173746572 c010
      00000001 00000e10 00000258 00015180 00000005`,
    value: {
      ...answer,
      rcode: 3,
      questions: [asked],
      authorities: [{
        name: "example",
        ttl: 5,
        type: "SOA",
        primary: "ns.example",
        mailbox: "hostmaster.example",
        serial: 1,
        refresh: 3600,
        retry: 600,
        expire: 86400,
        minimum: 5,
      }],
    },
  },
  {
    name: "SRV with an uncompressed target, and an address for it",
    hex: `1234 8500 0001 0001 0000 0001 05 5f68747470 ${question.slice(0, -9)} 0021 0001
      c00c 0021 0001 0000001e 0013 0000 0064 0050 03 776562 07 6578616d706c65 00
      c012 0001 0001 0000001e 0004 0a000001`,
    value: {
      ...answer,
      questions: [{ name: "_http.web.example", type: "SRV", class: 1 }],
      answers: [{
        name: "_http.web.example",
        ttl: 30,
        type: "SRV",
        priority: 0,
        weight: 100,
        port: 80,
        target: "web.example",
      }],
      additionals: [{ name: "web.example", ttl: 30, type: "A", address: "10.0.0.1" }],
    },
  },
  {
    name: "PTR, NS and CNAME, and an unknown type",
    hex: `1234 8500 0000 0004 0000 0000
      01 31 02 3130 07 696e2d61646472 04 61727061 00 000c 0001 00000001 0005 01 61 01 62 00
      01 63 c02b 0002 0001 00000001 0002 c029
      c02e 0005 0001 00000001 0002 c02b
      c02b 0010 0003 00000000 0002 0141`,
    value: {
      ...answer,
      answers: [
        { name: "1.10.in-addr.arpa", ttl: 1, type: "PTR", target: "a.b" },
        { name: "c.b", ttl: 1, type: "NS", target: "a.b" },
        { name: "c.b", ttl: 1, type: "CNAME", target: "b" },
        { name: "b", ttl: 0, class: 3, type: 16, data: fromHex("0141") },
      ],
    },
  },
  {
    name: "BADVERS, whose code is split over two fields",
    hex: "1234 8100 0000 0000 0000 0001 00 0029 04d0 0100 0000 0000",
    value: {
      ...plain,
      isResponse: true,
      rcode: 16,
      edns: { size: 1232, version: 0, wantsDnssec: false, options: new Uint8Array() },
    },
  },
  {
    name: "labels with a dot, a space and non-ASCII bytes",
    hex: "1234 0100 0001 0000 0000 0000 05 61 2e 20 5c ff 01 41 00 0001 0001",
    value: { ...plain, questions: [{ name: "a\\046\\032\\092\\255.A", type: "A", class: 1 }] },
  },
];

for (const { name, hex, value } of messages) {
  Deno.test(`decodeDnsMessage() and encodeDnsMessage() handle ${name}`, () => {
    const bytes = fromHex(hex);
    assert.deepEqual(decodeDnsMessage(bytes), { value, used: bytes.length });
    assert.deepEqual([...encodeDnsMessage(value)], [...bytes]);
  });
  Deno.test(`decodeDnsMessage() asks for more at every cut of ${name}`, () => {
    const bytes = fromHex(hex);
    for (let cut = 0; cut < bytes.length; cut++) {
      assert.equal(decodeDnsMessage(bytes.subarray(0, cut)), undefined, `after ${cut} bytes`);
    }
  });
}

const head = "1234 0100 0001 0000 0000 0000";

/** Pointers after a byte at `at`: the first one to that byte, each other one to the previous pointer. */
function chainOfPointers(at: number, count: number): string {
  const places = Array.from({ length: count }, (_, index) => index === 0 ? at : at + 1 + (index - 1) * 2);
  return places.map((place) => (0xc000 | place).toString(16)).join("");
}

const refused: { name: string; hex: string }[] = [
  { name: "a name that points at itself", hex: `${head} c00c 0001 0001` },
  { name: "a name that points forward", hex: `${head} c00e 01 61 00 0001 0001` },
  { name: "two names that point at each other", hex: `${head} 01 61 c00c 0001 0001` },
  { name: "a name that runs into its own pointer", hex: `${head} 03 610161 c00e 0001 0001` },
  {
    name: "a name with a long chain of pointers",
    // The chain is in the data of an unknown record type; the first pointer points to an empty name.
    hex: "1234 8100 0000 0002 0000 0000 00 ff00 0001 00000000 0101 00" + chainOfPointers(23, 128) +
      " c116 0001 0001 00000000 0004 01020304",
  },
  { name: "a label of the kind 01", hex: `${head} 41 00 00 0001 0001` },
  { name: "a name of 256 bytes", hex: `${head} ${`3f${"61".repeat(63)}`.repeat(4)} 00 0001 0001` },
  {
    name: "an address of three bytes",
    hex: "1234 8100 0000 0001 0000 0000 00 0001 0001 00000000 0003 01020300",
  },
  {
    name: "data with trailing bytes",
    hex: "1234 8100 0000 0001 0000 0000 00 0005 0001 00000000 0003 000000",
  },
  {
    name: "two OPT records",
    hex: `1234 0100 0000 0000 0000 0002 ${"00 0029 04d0 0000 0000 0000".repeat(2)}`,
  },
  {
    name: "an OPT record among the answers",
    hex: "1234 0100 0000 0001 0000 0000 00 0029 04d0 0000 0000 0000",
  },
  {
    name: "an OPT record with a name",
    hex: "1234 0100 0000 0000 0000 0001 01 61 00 0029 04d0 0000 0000 0000",
  },
];
for (const { name, hex } of refused) {
  Deno.test(`decodeDnsMessage() refuses ${name}`, () => {
    assert.throws(
      () => decodeDnsMessage(fromHex(hex)),
      (error) => error instanceof PosternError && error.code === "protocol",
    );
  });
}

Deno.test("decodeDnsMessage() accepts a name of 255 bytes and a chain of many pointers", () => {
  const longest = `${`3f${"61".repeat(63)}`.repeat(3)} 3d ${"61".repeat(61)} 00`;
  const name = decodeDnsMessage(fromHex(`${head} ${longest} 0001 0001`))?.value.questions[0]?.name ?? "";
  assert.equal(name.length, 253);
  assert(isDnsName(name));
  assert(!isDnsName(`${name}a`));
  // Each question's name is a label before a pointer to the previous name.
  const count = 100;
  let hex = `1234 0100 0064 0000 0000 0000 01 61 00 0001 0001`;
  for (let number = 1; number < count; number++) {
    const before = number === 1 ? 12 : 19 + 8 * (number - 2);
    hex += `01 62 ${(0xc000 | before).toString(16)} 0001 0001`;
  }
  const last = decodeDnsMessage(fromHex(hex))?.value.questions.at(-1)?.name;
  assert.equal(last, `${"b.".repeat(count - 1)}a`);
});

for (
  const { name, isName } of [
    { name: "", isName: true },
    { name: "a", isName: true },
    { name: "a.b.c", isName: true },
    { name: "_http._tcp.a", isName: true },
    { name: "a\\046b.c", isName: true },
    { name: "a..b", isName: false },
    { name: ".a", isName: false },
    { name: "a.", isName: false },
    { name: "a\\04", isName: false },
    { name: "a\\300", isName: false },
    { name: "a b", isName: false },
    { name: "é", isName: false },
    { name: "a".repeat(63), isName: true },
    { name: "a".repeat(64), isName: false },
    { name: "a.".repeat(126) + "a", isName: true },
    { name: "a.".repeat(127) + "a", isName: false },
  ]
) {
  Deno.test(`isDnsName() returns ${isName} for "${name.slice(0, 40)}" of ${name.length}`, () => {
    assert.equal(isDnsName(name), isName);
  });
}

const many = Array.from({ length: 100 }, (_, index) => (
  { name: "web.example", ttl: 5, type: "A", address: `192.0.2.${index}` } as const
));

Deno.test("encodeDnsMessage() truncates to the client's size and sets the flag", () => {
  const edns = { size: 1232, version: 0, wantsDnssec: false, options: new Uint8Array() };
  const message: Message = { ...answer, questions: [asked], answers: many, edns };
  const whole = encodeDnsMessage(message);
  assert.equal(decodeDnsMessage(whole)?.value.isTruncated, false);
  for (const limit of [512, 600, 1232, whole.length - 1]) {
    const cut = encodeDnsMessage(message, { limit });
    assert(cut.length <= limit && cut.length > limit - 16, `${cut.length} of ${limit}`);
    const value = decodeDnsMessage(cut)?.value;
    assert.equal(value?.isTruncated, true);
    assert.deepEqual(value?.edns, edns);
    assert.deepEqual(value?.answers, many.slice(0, value?.answers.length));
  }
  assert.deepEqual(encodeDnsMessage(message, { limit: whole.length }), whole);
});

Deno.test("encodeDnsMessage() drops additional records without the truncation flag", () => {
  const message: Message = { ...answer, questions: [asked], answers: many.slice(0, 1), additionals: many };
  const value = decodeDnsMessage(encodeDnsMessage(message, { limit: 512 }))?.value;
  assert.equal(value?.isTruncated, false);
  assert.equal(value?.answers.length, 1);
  assert((value?.additionals.length ?? 0) < 100);
});

Deno.test("encodeDnsMessage() refuses invalid names and addresses", () => {
  for (const record of [{ ...many[0], name: "a..b" }, { ...many[0], address: "::1" }]) {
    assert.throws(() => encodeDnsMessage({ ...answer, answers: [record as DnsRecord] }), PosternError);
  }
});

Deno.test("dnsFrameDecoder() reads messages from a stream, and refuses one that is too long", () => {
  const frame = encodeDnsFrame(Uint8Array.of(1, 2, 3));
  assert.deepEqual([...frame], [0, 3, 1, 2, 3]);
  const decode = dnsFrameDecoder(3);
  for (let cut = 0; cut < frame.length; cut++) assert.equal(decode(frame.subarray(0, cut)), undefined);
  assert.deepEqual(decode(Uint8Array.of(...frame, 0, 9)), { value: Uint8Array.of(1, 2, 3), used: 5 });
  assert.throws(() => decode(Uint8Array.of(0, 4)), PosternError);
  assert.equal(dnsFrameDecoder()(Uint8Array.of(255, 255)), undefined);
});
