import assert from "node:assert/strict";
import * as spdy from "../../../../src/wire/spdy/spdy_frames.ts";
import { SpdyReader } from "../../../../src/wire/spdy/spdy_reader.ts";
import { type SpdyEffect, SpdySession } from "../../../../src/wire/spdy/spdy_session.ts";

const hex = (text: string) => Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (pair) => parseInt(pair, 16));
const bytes = (text: string) => new TextEncoder().encode(text);

/** Formats each effect as a line. */
function told(effects: readonly SpdyEffect[]): string[] {
  return effects.map((effect) => {
    switch (effect.kind) {
      case "send":
        return `send ${effect.bytes.toHex()}`;
      case "opened":
        return `opened ${effect.stream} ${JSON.stringify([...effect.headers])}`;
      case "data":
        return `data ${effect.stream} ${new TextDecoder().decode(effect.bytes)}`;
      case "reset":
        return `reset ${effect.stream} ${effect.code}`;
      case "pong":
        return `pong ${effect.id}`;
      case "goingAway":
        return `goingAway ${effect.lastStream}`;
      default:
        return `${effect.kind} ${effect.stream}`;
    }
  });
}

function dataFrame(session: SpdySession, stream: number, text: string): Uint8Array<ArrayBuffer> {
  const data = bytes(text);
  return new Uint8Array([...session.dataHead(stream, data.length), ...data]);
}

const headers = [["streamtype", "data"], ["port", "80"]] as const;

Deno.test("SpdySession carries streams in both directions with separate ends", () => {
  const client = new SpdySession("client");
  const server = new SpdySession("server");
  const { stream, bytes: syn } = client.open(headers);
  assert.deepEqual(told(server.receive(syn)), [`opened 1 ${JSON.stringify(headers)}`]);
  assert.deepEqual(told(client.receive(server.reply(stream))), ["accepted 1"]);
  assert.deepEqual(told(server.receive(dataFrame(client, stream, "ask"))), ["data 1 ask"]);
  assert.deepEqual(told(server.receive(client.end(stream) ?? assert.fail())), ["ended 1"]);
  assert.equal(client.end(stream), undefined);
  assert.deepEqual(told(client.receive(dataFrame(server, stream, "answer"))), ["data 1 answer"]);
  assert.equal(client.size, 1);
  assert.deepEqual(told(client.receive(server.end(stream) ?? assert.fail())), ["ended 1"]);
  assert.equal(client.size, 0);
  assert.equal(server.size, 0);
});

Deno.test("SpdySession opens and ends a stream without data in one frame", () => {
  const client = new SpdySession("client");
  const { bytes } = client.open(headers, { isLast: true });
  assert.deepEqual(told(new SpdySession("server").receive(bytes)), [
    `opened 1 ${JSON.stringify(headers)}`,
    "ended 1",
  ]);
});

Deno.test("SpdySession encodes the headers of many streams as one zlib stream", () => {
  const client = new SpdySession("client");
  const server = new SpdySession("server");
  for (let index = 0; index < 50; index++) {
    const own = [["requestid", String(index)]] as const;
    const { stream, bytes } = client.open(own);
    assert.equal(stream, index * 2 + 1);
    assert.deepEqual(told(server.receive(bytes)), [`opened ${stream} ${JSON.stringify(own)}`]);
  }
});

Deno.test("SpdySession decodes replies of moby/spdystream", () => {
  const client = new SpdySession("client");
  client.open(headers);
  client.open(headers);
  // Replies without headers, compressed by zlib with the dictionary.
  const first = hex("8003000200000014 00000001 78f9e3c6a7c202a6230600000000ffff");
  assert.deepEqual(told(client.receive(first)), ["accepted 1"]);
});

Deno.test("SpdySession passes on data of an incomplete frame, and the end with the last part", () => {
  const client = new SpdySession("client");
  client.open(headers);
  assert.deepEqual(told(client.receive(hex("00000001 01000005 6162"))), ["data 1 ab"]);
  assert.deepEqual(told(client.receive(bytes("cd"))), ["data 1 cd"]);
  assert.deepEqual(told(client.receive(bytes("e"))), ["data 1 e", "ended 1"]);
});

Deno.test("SpdySession ends both directions with a reset and ignores later frames", () => {
  const client = new SpdySession("client");
  const server = new SpdySession("server");
  const { stream, bytes } = client.open(headers);
  server.receive(bytes);
  const reset = client.reset(stream) ?? assert.fail();
  assert.deepEqual(told(server.receive(reset)), ["reset 1 5"]);
  assert.equal(client.reset(stream), undefined);
  assert.deepEqual(told(client.receive(dataFrame(server, stream, "late"))), []);
  assert.deepEqual(told(client.receive(spdy.rstStreamFrame(stream, 5))), []);
});

Deno.test("SpdySession responds to pings and recognizes responses to its own", () => {
  const client = new SpdySession("client");
  const server = new SpdySession("server");
  const { id, bytes } = client.ping();
  const effects = server.receive(bytes);
  assert.deepEqual(told(effects), [`send ${bytes.toHex()}`]);
  assert.deepEqual(told(client.receive(bytes)), [`pong ${id}`]);
  const { bytes: other } = server.ping();
  assert.deepEqual(told(client.receive(other)), [`send ${other.toHex()}`]);
});

Deno.test("SpdySession reports the peer's GOAWAY and sends its own", () => {
  const client = new SpdySession("client");
  const server = new SpdySession("server");
  server.receive(client.open(headers).bytes);
  assert.deepEqual(told(client.receive(server.goAway())), ["goingAway 1"]);
});

Deno.test("SpdySession ignores windows, settings and frames of unknown types", () => {
  const client = new SpdySession("client");
  for (
    const frame of [
      "80030009 00000008 00000001 00010000",
      "80030004 0000000c 00000001 00000007 00010000",
      "8003000a 00000004 00000000",
    ]
  ) assert.deepEqual(client.receive(hex(frame)), []);
});

Deno.test("SpdySession skips stream numbers on request", () => {
  const client = new SpdySession("client");
  client.skip();
  assert.equal(client.nextStream, 3);
  assert.equal(client.open(headers).stream, 3);
});

const refused = [
  { name: "another version", bytes: "80020006 00000004 00000001" },
  { name: "data without a stream", bytes: "00000000 00000001 61" },
  { name: "a reset without a stream", bytes: "80030003 00000008 00000000 00000005" },
  { name: "a reset without a code", bytes: "80030003 00000004 00000001" },
  { name: "a truncated ping", bytes: "80030006 00000002 0001" },
  { name: "settings with a wrong length", bytes: "80030004 00000004 00000001" },
  { name: "a control frame of a megabyte", bytes: "80030001 00100000" },
  {
    name: "a stream number of our parity",
    bytes: "80030001 00000010 00000001 00000000 0000 000000000000",
  },
  { name: "headers that are not a zlib stream", bytes: "80030002 00000008 00000001 61616161" },
];
for (const { name, bytes } of refused) {
  Deno.test(`SpdySession rejects ${name}`, () => {
    assert.throws(() => new SpdySession("client").receive(hex(bytes)), { code: "protocol" });
  });
}

Deno.test("SpdyReader rejects invalid header blocks", () => {
  const stored = (block: string) => {
    const data = hex(block);
    const length = data.length;
    const low = length & 0xff;
    return Uint8Array.of(...hex("78bbe3c6a7c200"), low, 0, ~low, 0xff, ...data, 0, 0, 0, 0xff, 0xff);
  };
  const blocks = {
    "a name twice": "00000002 00000001 61 00000001 62 00000001 61 00000001 62",
    "an uppercase name": "00000001 00000001 41 00000001 62",
    "no name": "00000001 00000000 00000001 62",
    "fewer headers than its count": "00000002 00000001 61 00000001 62",
    "more bytes than its count": "00000000 61",
    "a thousand headers": "000003e8",
    "an oversized name length": "00000001 7fffffff 61",
  };
  for (const [name, block] of Object.entries(blocks)) {
    const reader = new SpdyReader();
    const frame = spdy.replyFrame(spdy.spdyFrameTypes.synReply, 1, stored(block));
    assert.throws(() => reader.receive(frame), { code: "protocol" }, name);
  }
});
