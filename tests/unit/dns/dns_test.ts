import assert from "node:assert/strict";
import { Deadlines, Messages } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { type DnsAnswers, type DnsDeps, serveDnsDatagrams, serveDnsStream } from "../../../src/dns/mod.ts";
import type { DnsOutcome } from "../../../src/dns/dns_reply.ts";
import {
  decodeDnsMessage,
  dnsFrameDecoder,
  type DnsMessage,
  encodeDnsFrame,
  encodeDnsMessage,
} from "../../../src/dns/mod.ts";
import type { DnsType } from "../../../src/dns/messages/dns_records.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { recordingLog } from "../../support/recording_log.ts";

const answers: DnsAnswers = {
  answer({ name, type }) {
    const zone = "example";
    if (name === "web.example") {
      if (type !== "A") return { kind: "nodata", zone };
      return { kind: "records", zone, records: [{ name, ttl: 5, type: "A", address: "192.0.2.1" }] };
    }
    if (name === "many.example") {
      const records = Array.from(
        { length: 100 },
        (_, at) => ({ name, ttl: 5, type: "A", address: `192.0.2.${at}` }) as const,
      );
      return { kind: "records", zone, records };
    }
    if (name === "later.example") {
      return Promise.resolve({
        kind: "records",
        zone,
        records: [{ name, ttl: 5, type: "A", address: "192.0.2.2" }],
      });
    }
    if (name === "never.example") return new Promise(() => {});
    if (name === "broken.example") throw new PosternError("unreachable", "Cannot query the cluster");
    if (name === zone) return { kind: "nodata", zone };
    return name.endsWith(".example") ? { kind: "unknown", zone } : { kind: "notOurs" };
  },
};

const plain: DnsMessage = {
  id: 7,
  isResponse: false,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  wantsRecursion: true,
  offersRecursion: false,
  isAuthentic: true,
  isUnchecked: false,
  rcode: 0,
  questions: [],
  answers: [],
  authorities: [],
  additionals: [],
};

function query(name: string, type: DnsType = "A", more: Partial<DnsMessage> = {}): DnsMessage {
  return { ...plain, questions: [{ name, type, class: 1 }], ...more };
}

const edns = { size: 1232, version: 0, wantsDnssec: true, options: new Uint8Array() };

interface Serving extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly outcomes: DnsOutcome[];
  send(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  receive(): Promise<Uint8Array<ArrayBuffer>>;
  ask(message: DnsMessage): Promise<DnsMessage>;
}

async function serving(): Promise<Serving> {
  const network = new MemoryNetwork();
  const clock = new FakeClock();
  const outcomes: DnsOutcome[] = [];
  const server = await network.datagrams({ host: "127.0.0.1", port: 53 });
  const client = await network.datagrams({ host: "127.0.0.1", port: 0 });
  const stop = new AbortController();
  const deps: DnsDeps = {
    answers,
    clock,
    log: recordingLog(),
    told: (_, { outcome }) => void outcomes.push(outcome),
  };
  const served = serveDnsDatagrams(server, deps, { signal: stop.signal });
  const send = (bytes: Uint8Array<ArrayBuffer>) => client.send(bytes, server.endpoint);
  const receive = async () => (await client.receive())?.bytes ?? assert.fail("no answer");
  return {
    clock,
    outcomes,
    send,
    receive,
    async ask(message) {
      await send(encodeDnsMessage(message));
      return decodeDnsMessage(await receive())?.value ?? assert.fail("half an answer");
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await served;
      client.close();
    },
  };
}

const asked: { name: string; query: DnsMessage; rcode: number; answers?: number; soa?: boolean }[] = [
  { name: "an existing name", query: query("web.example"), rcode: 0, answers: 1 },
  { name: "a name found after a delay", query: query("later.example"), rcode: 0, answers: 1 },
  { name: "another type of an existing name", query: query("web.example", "AAAA"), rcode: 0, soa: true },
  { name: "an unknown name in our zone", query: query("no.example"), rcode: 3, soa: true },
  { name: "a name outside our zones", query: query("example.com"), rcode: 5 },
  { name: "a name with a similar ending", query: query("notexample"), rcode: 5 },
  { name: "the root", query: query(""), rcode: 5 },
  { name: "the SOA of the zone", query: query("EXAMPLE", "SOA"), rcode: 0, answers: 1 },
  { name: "a name whose cluster does not answer", query: query("broken.example"), rcode: 2 },
  { name: "a zone transfer", query: query("example", 252), rcode: 5 },
  {
    name: "another class",
    query: { ...plain, questions: [{ name: "version.bind", type: 16, class: 3 }] },
    rcode: 5,
  },
  {
    name: "two questions",
    query: { ...plain, questions: [...query("a").questions, ...query("b").questions] },
    rcode: 1,
  },
  { name: "no question", query: plain, rcode: 1 },
  { name: "an update", query: query("web.example", "A", { opcode: 5 }), rcode: 4 },
  {
    name: "a later EDNS version",
    query: query("web.example", "A", { edns: { ...edns, version: 1 } }),
    rcode: 16,
  },
];
for (const { name, query, rcode, answers = 0, soa = false } of asked) {
  Deno.test(`serveDnsDatagrams() answers ${name} with ${rcode}`, async () => {
    await using serving_ = await serving();
    const { isResponse, id, offersRecursion, isAuthentic, wantsRecursion, ...reply } = await serving_.ask(
      query,
    );
    assert.deepEqual({ isResponse, id, offersRecursion, isAuthentic, wantsRecursion }, {
      isResponse: true,
      id: 7,
      offersRecursion: false,
      isAuthentic: false,
      wantsRecursion: true,
    });
    assert.equal(reply.rcode, rcode);
    assert.equal(reply.answers.length, answers);
    assert.deepEqual(
      reply.authorities.map(({ name, type, ttl }) => ({ name, type, ttl })),
      soa ? [{ name: "example", type: "SOA", ttl: 5 }] : [],
    );
    assert.equal(reply.isAuthoritative, answers > 0 || soa);
    const isRead = query.questions.length === 1 && query.opcode === 0;
    assert.deepEqual(reply.questions, isRead ? query.questions : []);
    assert.equal(reply.edns?.version, query.edns ? 0 : undefined);
  });
}

Deno.test("serveDnsDatagrams() keeps the client's spelling of names", async () => {
  await using server = await serving();
  const { questions, answers } = await server.ask(query("WeB.eXample"));
  assert.deepEqual([questions[0]?.name, answers[0]?.name], ["WeB.eXample", "WeB.eXample"]);
});

for (
  const { size, isTruncated } of [
    { size: undefined, isTruncated: true },
    { size: 0, isTruncated: true },
    { size: 1232, isTruncated: true },
    { size: 4096, isTruncated: false },
    { size: 65535, isTruncated: false },
  ]
) {
  Deno.test(`serveDnsDatagrams() limits the reply for a client size of ${size ?? "none"}`, async () => {
    await using server = await serving();
    const more = size === undefined ? {} : { edns: { ...edns, size } };
    await server.send(encodeDnsMessage(query("many.example", "A", more)));
    const bytes = await server.receive();
    assert(bytes.length <= Math.min(4096, Math.max(512, size ?? 0)));
    assert.equal(decodeDnsMessage(bytes)?.value.isTruncated, isTruncated);
  });
}

Deno.test("serveDnsDatagrams() answers junk with FORMERR or not at all, and continues", async () => {
  await using server = await serving();
  const whole = encodeDnsMessage(query("web.example"));
  const junk = [
    new Uint8Array(),
    Uint8Array.of(1),
    whole.subarray(0, 11),
    encodeDnsMessage(query("web.example", "A", { isResponse: true })),
    new Uint8Array(5000),
  ];
  for (const bytes of junk) await server.send(bytes);
  const broken = [
    whole.subarray(0, 12),
    whole.subarray(0, whole.length - 1),
    Uint8Array.of(...whole, 0),
    Uint8Array.of(...whole.subarray(0, 12), 0xc0, 12, 0, 1, 0, 1),
  ];
  for (const bytes of broken) {
    await server.send(bytes);
    assert.equal(decodeDnsMessage(await server.receive())?.value.rcode, 1);
  }
  assert.equal((await server.ask(query("web.example"))).rcode, 0);
  assert.deepEqual(server.outcomes, [
    ...junk.map((): DnsOutcome => "dropped"),
    ...broken.map((): DnsOutcome => "malformed"),
    "answered",
  ]);
});

Deno.test("serveDnsDatagrams() cancels a late answer, and meanwhile answers other queries", async () => {
  await using server = await serving();
  await server.send(encodeDnsMessage(query("never.example")));
  assert.equal((await server.ask(query("web.example"))).rcode, 0);
  await server.clock.advance(4000);
  const late = decodeDnsMessage(await server.receive())?.value;
  assert.deepEqual([late?.rcode, late?.questions[0]?.name], [2, "never.example"]);
  assert.equal(server.clock.waiting, 0);
});

Deno.test("serveDnsDatagrams() limits waiting queries and queries per second", async () => {
  await using server = await serving();
  const never = encodeDnsMessage(query("never.example"));
  for (let count = 0; count < 600; count++) await server.send(never);
  await server.clock.advance(0);
  assert.equal(server.outcomes.filter((outcome) => outcome === "dropped").length, 600 - 512);
  await server.clock.advance(4000);
  for (let count = 0; count < 512; count++) await server.receive();
  assert.equal((await server.ask(query("web.example"))).rcode, 0);
  const before = server.outcomes.length;
  const web = encodeDnsMessage(query("web.example"));
  for (let count = 0; count < 20_100; count++) {
    await server.send(web);
    if (count % 100 === 0) await server.clock.advance(0);
  }
  await server.clock.advance(0);
  const dropped = server.outcomes.slice(before).filter((outcome) => outcome === "dropped").length;
  assert.equal(dropped, 101);
});

function stream() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const draining = new AbortController();
  const [client, server] = memoryPair();
  const deps = {
    deadlines: new Deadlines(clock),
    limits: { connections: 10, handshake: 10_000, halfCloseLinger: 1000 },
  };
  const dnsDeps: DnsDeps = { answers, clock, log: recordingLog() };
  const options = { dnsDeps, signal: stop.signal, draining: draining.signal };
  const served = serveDnsStream(server, new Messages(server), deps, options);
  const messages = new Messages(client);
  const receive = async () => {
    const frame = await messages.read(dnsFrameDecoder());
    return frame && decodeDnsMessage(frame)?.value;
  };
  const send = (message: DnsMessage) => client.write(encodeDnsFrame(encodeDnsMessage(message)));
  return { clock, client, served, send, receive, draining };
}

Deno.test("serveDnsStream() answers queries one at a time, untruncated", async () => {
  const { client, served, send, receive } = stream();
  await send(query("many.example"));
  await send(query("web.example", "A", { id: 8 }));
  const [first, second] = [await receive(), await receive()];
  assert.deepEqual([first?.answers.length, first?.isTruncated], [100, false]);
  assert.deepEqual([second?.id, second?.answers.length], [8, 1]);
  await client.closeWrite();
  await served;
  assert.equal(await receive(), undefined);
});

Deno.test("serveDnsStream() drops a client that sends half a query, a long one, or none in time", async () => {
  for (const bytes of [[0, 30, 1], [255, 255], [], [0, 3, 1, 2, 3]]) {
    const { clock, client, served } = stream();
    await client.write(Uint8Array.from(bytes));
    await clock.advance(11_000);
    await served;
    assert.equal(clock.waiting, 0, `${bytes}`);
  }
});

Deno.test("serveDnsStream() closes an idle client when the listener closes", async () => {
  const { served, send, receive, draining } = stream();
  await send(query("web.example"));
  assert.equal((await receive())?.rcode, 0);
  draining.abort();
  await served;
});
