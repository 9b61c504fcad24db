import assert from "node:assert/strict";
import { type HeaderField, http2Codes, type Http2Event, Http2Session } from "../../../../src/wire/mod.ts";
import { HpackEncoder } from "../../../../src/wire/http2/hpack.ts";
import { clientPreface, http2FrameTypes } from "../../../../src/wire/http2/http2_frames.ts";
import { Http2Output } from "../../../../src/wire/http2/http2_output.ts";
import { toHex } from "../../../support/hex.ts";

const limits = { streamWindow: 65_535, connectionWindow: 65_535, maxStreams: 10, maxFields: 16_384 };

const get: HeaderField[] = [[":method", "GET"], [":scheme", "http"], [":path", "/"]];
const post: HeaderField[] = [[":method", "POST"], [":scheme", "http"], [":path", "/"]];

/** A peer that can send anything, byte by byte. */
class Peer {
  readonly #output = new Http2Output();
  readonly #encoder = new HpackEncoder();

  constructor(role: "client" | "server" = "client", settings: readonly number[] = []) {
    if (role === "client") this.#output.raw(clientPreface);
    this.frame(http2FrameTypes.settings, 0, 0, settings);
  }

  frame(type: number, flags: number, stream: number, payload: readonly number[] = []): this {
    this.#output.frame(type, flags, stream, Uint8Array.from(payload));
    return this;
  }

  fields(stream: number, fields: readonly HeaderField[], flags = 0x5): this {
    return this.frame(http2FrameTypes.headers, flags, stream, [...this.#encoder.encode(fields)]);
  }

  data(stream: number, length: number, flags = 0): this {
    return this.frame(http2FrameTypes.data, flags, stream, new Array(length).fill(7));
  }

  get bytes() {
    return this.#output.take();
  }
}

/** Formats frames as `type/flags/stream:payload`. */
function frames(bytes: Uint8Array): string[] {
  const found: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const [a = 0, b = 0, c = 0, type = 0, flags = 0] = bytes.subarray(at, at + 5);
    const length = a << 16 | b << 8 | c;
    const stream = bytes[at + 8];
    const name = Object.entries(http2FrameTypes).find(([, number]) => number === type)?.[0] ?? type;
    found.push(`${name}/${flags}/${stream}:${toHex(bytes.subarray(at + 9, at + 9 + Math.min(length, 8)))}`);
    at += 9 + length;
  }
  return found;
}

function server(): Http2Session {
  const session = new Http2Session({ role: "server", ...limits });
  session.takeOutput();
  return session;
}

function receiveAll(session: Http2Session, peer: Peer): Http2Event[] {
  return session.receive(peer.bytes, 0);
}

Deno.test("Http2Session reports a request with its data and its end", () => {
  const events = receiveAll(server(), new Peer().fields(1, post, 0x4).data(1, 3).data(1, 2, 1));
  assert.deepEqual(events.map(({ type }) => type), ["settings", "fields", "data", "data", "end"]);
  assert.deepEqual(events[1], { type: "fields", stream: 1, kind: "request", fields: post });
});

Deno.test("Http2Session decodes the same events for any chunks", () => {
  const peer = new Peer().fields(1, [...post, ["x", "y".repeat(300)]], 0x4).data(1, 700).data(1, 0, 1);
  const { bytes } = peer;
  const whole = server().receive(bytes.slice(), 0);
  for (const size of [1, 2, 7, 100]) {
    const session = server();
    const events: Http2Event[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      events.push(...session.receive(bytes.slice(at, at + size), 0));
    }
    const data = (list: Http2Event[]) =>
      list.reduce((sum, event) => sum + (event.type === "data" ? event.bytes.length : 0), 0);
    const others = (list: Http2Event[]) => list.filter(({ type }) => type !== "data");
    assert.deepEqual(others(events), others(whole));
    assert.equal(data(events), 700);
  }
});

const { settings, headers, data, priority, reset, ping, goAway, windowUpdate, continuation } =
  http2FrameTypes;

// Faults that end a whole connection, and the code sent to the peer.
const faults: { name: string; code: keyof typeof http2Codes; peer: () => Peer }[] = [
  {
    name: "fields on stream 0",
    code: "protocolError",
    peer: () => new Peer().frame(headers, 5, 0, [0x82]),
  },
  { name: "fields on an even stream", code: "protocolError", peer: () => new Peer().fields(2, get) },
  {
    name: "fields on a skipped stream",
    code: "protocolError",
    peer: () => new Peer().fields(5, get).fields(3, get),
  },
  {
    name: "fields after the end of a stream",
    code: "streamClosed",
    peer: () => new Peer().fields(1, get).fields(1, get),
  },
  {
    name: "data after the end of a stream",
    code: "streamClosed",
    peer: () => new Peer().fields(1, get).data(1, 1),
  },
  { name: "data on stream 0", code: "protocolError", peer: () => new Peer().data(0, 1) },
  { name: "data on an unopened stream", code: "protocolError", peer: () => new Peer().data(1, 1) },
  {
    name: "more padding than data",
    code: "protocolError",
    peer: () => new Peer().fields(1, post, 4).frame(data, 8, 1, [9, 1]),
  },
  {
    name: "more padding than fields",
    code: "protocolError",
    peer: () => new Peer().frame(headers, 13, 1, [9, 1]),
  },
  {
    name: "an interrupted field list",
    code: "protocolError",
    peer: () => new Peer().fields(1, get, 1).frame(ping, 0, 0, new Array(8).fill(0)),
  },
  {
    name: "a field list continued on another stream",
    code: "protocolError",
    peer: () => new Peer().fields(1, get, 1).frame(continuation, 4, 3, []),
  },
  {
    name: "a continuation without a field list",
    code: "protocolError",
    peer: () => new Peer().frame(continuation, 4, 1, []),
  },
  {
    name: "an endless field list",
    code: "enhanceYourCalm",
    peer: () => {
      const peer = new Peer().fields(1, get, 1);
      for (let count = 0; count < 100; count++) peer.frame(continuation, 0, 1, []);
      return peer;
    },
  },
  {
    name: "an invalid field list",
    code: "compressionError",
    peer: () => new Peer().frame(headers, 5, 1, [0xff, 0xff]),
  },
  {
    name: "a stream that depends on itself",
    code: "protocolError",
    peer: () => new Peer().frame(priority, 0, 1, [0, 0, 0, 1, 0]),
  },
  {
    name: "a priority on stream 0",
    code: "protocolError",
    peer: () => new Peer().frame(priority, 0, 0, [0, 0, 0, 1, 0]),
  },
  {
    name: "a reset of stream 0",
    code: "protocolError",
    peer: () => new Peer().frame(reset, 0, 0, [0, 0, 0, 0]),
  },
  {
    name: "a reset of an unopened stream",
    code: "protocolError",
    peer: () => new Peer().frame(reset, 0, 1, [0, 0, 0, 0]),
  },
  {
    name: "a reset with a wrong size",
    code: "frameSizeError",
    peer: () => new Peer().fields(1, post, 4).frame(reset, 0, 1, [0, 0, 0]),
  },
  {
    name: "settings on a stream",
    code: "protocolError",
    peer: () => new Peer().frame(settings, 0, 1, []),
  },
  {
    name: "settings with a wrong size",
    code: "frameSizeError",
    peer: () => new Peer().frame(settings, 0, 0, [0, 1, 0]),
  },
  {
    name: "acknowledged settings with a payload",
    code: "frameSizeError",
    peer: () => new Peer().frame(settings, 1, 0, [0, 1, 0, 0, 0, 0]),
  },
  {
    name: "ENABLE_PUSH set to 2",
    code: "protocolError",
    peer: () => new Peer("client", [0, 2, 0, 0, 0, 2]),
  },
  {
    name: "a window of 2^31",
    code: "flowControlError",
    peer: () => new Peer("client", [0, 4, 128, 0, 0, 0]),
  },
  {
    name: "frames of 100 bytes",
    code: "protocolError",
    peer: () => new Peer("client", [0, 5, 0, 0, 0, 100]),
  },
  { name: "frames of 2^24 bytes", code: "protocolError", peer: () => new Peer("client", [0, 5, 1, 0, 0, 0]) },
  {
    name: "a stream pushed by a client",
    code: "protocolError",
    peer: () => new Peer().frame(http2FrameTypes.pushPromise, 4, 1, [0, 0, 0, 2]),
  },
  {
    name: "a ping on a stream",
    code: "protocolError",
    peer: () => new Peer().frame(ping, 0, 1, new Array(8).fill(0)),
  },
  { name: "a ping with a wrong size", code: "frameSizeError", peer: () => new Peer().frame(ping, 0, 0, [1]) },
  {
    name: "GOAWAY on a stream",
    code: "protocolError",
    peer: () => new Peer().frame(goAway, 0, 1, new Array(8).fill(0)),
  },
  {
    name: "GOAWAY with a wrong size",
    code: "frameSizeError",
    peer: () => new Peer().frame(goAway, 0, 0, [0]),
  },
  {
    name: "a window update of 0 bytes for the connection",
    code: "protocolError",
    peer: () => new Peer().frame(windowUpdate, 0, 0, [0, 0, 0, 0]),
  },
  {
    name: "the connection's window growing too large",
    code: "flowControlError",
    peer: () => new Peer().frame(windowUpdate, 0, 0, [0x7f, 255, 255, 255]),
  },
  {
    name: "a window update with a wrong size",
    code: "frameSizeError",
    peer: () => new Peer().frame(windowUpdate, 0, 0, [0]),
  },
  {
    name: "a window update for an unopened stream",
    code: "protocolError",
    peer: () => new Peer().frame(windowUpdate, 0, 1, [0, 0, 0, 1]),
  },
  {
    name: "a frame larger than allowed",
    code: "frameSizeError",
    peer: () => new Peer().fields(1, post, 4).data(1, 16_385),
  },
  {
    name: "more data than the connection's window",
    code: "flowControlError",
    peer: () => {
      const peer = new Peer();
      for (let stream = 1; stream <= 9; stream += 2) peer.fields(stream, post, 4).data(stream, 16_000);
      return peer;
    },
  },
  {
    name: "a flood of pings",
    code: "enhanceYourCalm",
    peer: () => {
      const peer = new Peer();
      for (let count = 0; count < 3000; count++) peer.frame(ping, 0, 0, new Array(8).fill(0));
      return peer;
    },
  },
  {
    name: "a flood of settings",
    code: "enhanceYourCalm",
    peer: () => {
      const peer = new Peer();
      for (let count = 0; count < 3000; count++) peer.frame(settings, 0, 0);
      return peer;
    },
  },
  {
    name: "a flood of empty data",
    code: "enhanceYourCalm",
    peer: () => {
      const peer = new Peer().fields(1, post, 4);
      for (let count = 0; count < 3000; count++) peer.data(1, 0);
      return peer;
    },
  },
  {
    name: "streams opened and reset endlessly",
    code: "enhanceYourCalm",
    peer: () => {
      const peer = new Peer();
      for (let stream = 1; stream < 13_000; stream += 2) {
        peer.fields(stream, post, 4).frame(reset, 0, stream, [0, 0, 0, 8]);
      }
      return peer;
    },
  },
];

for (const { name, code, peer } of faults) {
  Deno.test(`Http2Session ends the connection for ${name}`, () => {
    const session = server();
    assert.throws(() => receiveAll(session, peer()), { code: "protocol", http2Code: http2Codes[code] });
    const last = frames(session.takeOutput()).at(-1) ?? "";
    assert.match(last, new RegExp(`^goAway/0/0:.{8}0000000${http2Codes[code].toString(16)}$`));
    assert.throws(() => session.receive(new Uint8Array(1), 0), { http2Code: http2Codes[code] });
  });
}

Deno.test("Http2Session allows a ping per data frame, which Go programs send to measure latency", () => {
  const session = server();
  receiveAll(session, new Peer().fields(1, post, 4));
  const measure = new Http2Output();
  measure.frame(ping, 0, 0, new Uint8Array(8));
  const bytes = measure.take();
  for (let count = 0; count < 5000; count++) {
    assert.equal(session.sendData(1, new Uint8Array(1), false), 1);
    session.receive(bytes, 0);
    session.takeOutput();
  }
  // A second ping for the same data measures nothing.
  assert.throws(() => {
    for (let count = 0; count < 3000; count++) session.receive(bytes, 0);
  }, { http2Code: http2Codes.enhanceYourCalm });
});

Deno.test("Http2Session rejects an HTTP/1.1 client", () => {
  const hello = new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.throws(() => server().receive(hello, 0), { http2Code: http2Codes.protocolError });
});

Deno.test("Http2Session requires settings first", () => {
  const session = new Http2Session({ role: "client", ...limits });
  const bytes = new Http2Output();
  bytes.frame(ping, 0, 0, new Uint8Array(8));
  assert.throws(() => session.receive(bytes.take(), 0), { http2Code: http2Codes.protocolError });
});

// Faults that end only one stream.
const streamFaults: { name: string; code: keyof typeof http2Codes; peer: (peer: Peer) => Peer }[] = [
  {
    name: "an uppercase name",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, ["X-Test", "a"]]),
  },
  {
    name: "a pseudo-header field after regular fields",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [["a", "b"], ...get]),
  },
  {
    name: "an unknown pseudo-header field",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, [":test", "a"]]),
  },
  {
    name: "a pseudo-header field of responses",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, [":status", "200"]]),
  },
  {
    name: "a repeated pseudo-header field",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, [":path", "/"]]),
  },
  {
    name: "no path",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [[":method", "GET"], [":scheme", "http"]]),
  },
  {
    name: "an empty path",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [[":method", "GET"], [":scheme", "http"], [":path", ""]]),
  },
  {
    name: "a connection-specific field",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, ["connection", "close"]]),
  },
  {
    name: "te with another value than trailers",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, ["te", "gzip"]]),
  },
  {
    name: "a line break in a value",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...get, ["a", "b\r\nc: d"]]),
  },
  {
    name: "fewer bytes than declared",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...post, ["content-length", "5"]], 4).data(1, 4, 1),
  },
  {
    name: "more bytes than declared",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...post, ["content-length", "5"]], 4).data(1, 6),
  },
  {
    name: "a length that is not a number",
    code: "protocolError",
    peer: (peer) => peer.fields(1, [...post, ["content-length", "-1"]], 4),
  },
  {
    name: "a field list inside the body",
    code: "protocolError",
    peer: (peer) => peer.fields(1, post, 4).fields(1, [["a", "b"]], 4),
  },
  {
    name: "trailers with a pseudo-header field",
    code: "protocolError",
    peer: (peer) => peer.fields(1, post, 4).fields(1, [[":path", "/"]], 5),
  },
  {
    name: "a window update of 0 bytes",
    code: "protocolError",
    peer: (peer) => peer.fields(1, post, 4).frame(windowUpdate, 0, 1, [0, 0, 0, 0]),
  },
  {
    name: "a window that grows too large",
    code: "flowControlError",
    peer: (peer) => peer.fields(1, post, 4).frame(windowUpdate, 0, 1, [0x7f, 255, 255, 255]),
  },
  {
    name: "a priority with a wrong size",
    code: "frameSizeError",
    peer: (peer) => peer.fields(1, post, 4).frame(priority, 0, 1, [0, 0, 0, 0]),
  },
  {
    name: "an oversized field list",
    code: "protocolError",
    peer: (peer) =>
      peer.fields(1, [...get, ["a", "b".repeat(10_000)], ["c", "d".repeat(5000)], ["e", "f".repeat(1500)]]),
  },
];

for (const { name, code, peer } of streamFaults) {
  Deno.test(`Http2Session ends one stream for ${name}`, () => {
    const session = server();
    const events = receiveAll(session, peer(new Peer()).fields(3, get));
    const end = events.find((event) => event.type === "reset");
    assert.equal(end?.stream, 1);
    assert.equal(end?.code, http2Codes[code]);
    assert.ok(events.some((event) => event.type === "fields" && event.stream === 3));
    assert.ok(frames(session.takeOutput()).includes(`reset/0/1:0000000${http2Codes[code]}`));
    assert.equal(session.openStreams, 1);
  });
}

Deno.test("Http2Session rejects streams beyond its limit and accepts more after some have ended", () => {
  const session = server();
  const peer = new Peer();
  for (let stream = 1; stream <= 23; stream += 2) peer.fields(stream, get);
  const events = receiveAll(session, peer);
  assert.equal(events.filter(({ type }) => type === "fields").length, 10);
  assert.ok(frames(session.takeOutput()).includes("reset/0/21:00000007"));
  session.sendFields(1, [[":status", "200"]], true);
  assert.equal(session.openStreams, 9);
});

Deno.test("Http2Session rejects data beyond a stream's window", () => {
  const session = new Http2Session({ role: "server", ...limits, streamWindow: 1000 });
  const events = session.receive(new Peer().fields(1, post, 4).data(1, 1001).bytes, 0);
  assert.deepEqual(
    events.filter(({ type }) => type === "reset").map((event) => "code" in event && event.code),
    [
      http2Codes.flowControlError,
    ],
  );
});

Deno.test("Http2Session updates windows after half of them is consumed", () => {
  const session = server();
  receiveAll(session, new Peer().fields(1, post, 4).data(1, 16_000).data(1, 16_000).data(1, 16_000));
  session.takeOutput();
  session.consumed(1, 32_000);
  assert.deepEqual(frames(session.takeOutput()), []);
  session.consumed(1, 16_000);
  assert.deepEqual(frames(session.takeOutput()), ["windowUpdate/0/0:0000bb80", "windowUpdate/0/1:0000bb80"]);
});

Deno.test("Http2Session updates the connection's window for data of a closed stream", () => {
  const session = server();
  receiveAll(session, new Peer().fields(1, post, 4));
  session.reset(1, http2Codes.cancel);
  session.takeOutput();
  const more = new Http2Output();
  for (let count = 0; count < 3; count++) more.frame(data, 0, 1, new Uint8Array(16_000));
  assert.deepEqual(session.receive(more.take(), 0), []);
  assert.deepEqual(frames(session.takeOutput()), ["windowUpdate/0/0:0000bb80"]);
});

Deno.test("Http2Session sends as much as windows and frame sizes allow, and the end with the last byte", () => {
  const session = new Http2Session({ role: "client", ...limits });
  session.receive(new Peer("server", [0, 4, 0, 0, 0x4e, 0x20]).bytes, 0);
  const stream = session.open(post, false);
  session.takeOutput();
  assert.equal(session.sendData(stream, new Uint8Array(30_000), true), 20_000);
  assert.deepEqual(frames(session.takeOutput()).map((frame) => frame.split(":")[0]), [
    "data/0/1",
    "data/0/1",
  ]);
  const update = new Http2Output();
  update.numbers(windowUpdate, 0, 1, [50_000]);
  assert.deepEqual(session.receive(update.take(), 0), [{ type: "writable", stream: 1 }]);
  assert.equal(session.sendData(stream, new Uint8Array(10_000), true), 10_000);
  assert.deepEqual(frames(session.takeOutput()).map((frame) => frame.split(":")[0]), ["data/1/1"]);
});

Deno.test("Http2Session resets a stream with too many interim responses", () => {
  const session = new Http2Session({ role: "client", ...limits });
  session.receive(new Peer("server").bytes, 0);
  const stream = session.open(get, true);
  const hint = [[":status", "103"]] as const;
  const peer = new Peer("server");
  for (let count = 0; count < 16; count++) peer.fields(stream, hint, 4);
  assert.deepEqual(session.receive(peer.bytes.subarray(new Peer("server").bytes.length), 0), []);
  const last = new Peer("server").fields(stream, hint, 4).bytes.subarray(new Peer("server").bytes.length);
  const [event] = session.receive(last, 0);
  assert.equal(event?.type, "reset");
  assert.match(JSON.stringify(event), /too many 1xx responses/);
});

Deno.test("Http2Session applies new settings to the windows of open streams, even below zero", () => {
  const session = new Http2Session({ role: "client", ...limits });
  session.receive(new Peer("server").bytes, 0);
  const stream = session.open(post, false);
  assert.equal(session.sendData(stream, new Uint8Array(1000), false), 1000);
  const smaller = new Http2Output();
  smaller.frame(settings, 0, 0, Uint8Array.of(0, 4, 0, 0, 0, 10));
  session.receive(smaller.take(), 0);
  assert.equal(session.room(stream), 0);
  const update = new Http2Output();
  update.numbers(windowUpdate, 0, 1, [1000]);
  session.receive(update.take(), 0);
  assert.equal(session.room(stream), 10);
});

Deno.test("Http2Session reports an emptied table even if the same settings enlarge it again", () => {
  const session = new Http2Session({ role: "client", ...limits });
  session.receive(new Peer("server", [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0x10, 0]).bytes, 0);
  session.takeOutput();
  session.open(get, true);
  // Both sizes (RFC 7541, section 4.2), then the fields.
  assert.deepEqual(frames(session.takeOutput()), ["headers/5/1:203fe11f828684"]);
});

Deno.test("Http2Session ends streams above the last one of a GOAWAY", () => {
  const session = new Http2Session({ role: "client", ...limits });
  session.receive(new Peer("server").bytes, 0);
  const [first, second] = [session.open(get, true), session.open(get, true)];
  const bye = new Http2Output();
  bye.numbers(goAway, 0, 0, [first, 0]);
  const events = session.receive(bye.take(), 0);
  assert.deepEqual(events.map(({ type }) => type), ["goAway", "reset"]);
  assert.deepEqual(events[1], { type: "reset", stream: second, code: http2Codes.refusedStream, by: "peer" });
  assert.equal(session.canOpen, false);
  assert.equal(session.openStreams, 1);
});

Deno.test("Http2Session ignores frames on streams above its own GOAWAY", () => {
  const session = server();
  const peer = new Peer().fields(1, post, 0x4);
  receiveAll(session, peer);
  session.goAway(http2Codes.noError);
  session.takeOutput();
  // Opened before the peer got our GOAWAY: a request, data, a window update, and an end or a reset.
  peer.fields(3, post, 0x4).data(3, 16_000).data(3, 16_000).data(3, 8_000).frame(windowUpdate, 0, 3, [
    0,
    0,
    0,
    1,
  ]).data(3, 0, 1);
  peer.fields(5, post, 0x4).frame(reset, 0, 5, [0, 0, 0, 8]).data(1, 3);
  const events = receiveAll(session, peer);
  assert.deepEqual(events.map((event) => "stream" in event && [event.type, event.stream]), [["data", 1]]);
  // Ignored data still count for the connection's window.
  assert.deepEqual(frames(session.takeOutput()), ["windowUpdate/0/0:00009c40"]);
  session.goAway(http2Codes.noError);
  assert.deepEqual(frames(session.takeOutput()), ["goAway/0/0:0000000100000000"]);
});

Deno.test("Http2Session splits a long field list into frames", () => {
  const session = new Http2Session({ role: "client", ...limits });
  session.receive(new Peer("server").bytes, 0);
  session.takeOutput();
  const long = Array.from({ length: 30 }, (_, at): HeaderField => [`x-${at}`, "~".repeat(1000)]);
  session.open([...get, ...long], true);
  const found = frames(session.takeOutput()).map((frame) => frame.split(":")[0]);
  assert.equal(found[0], "headers/1/1");
  assert.equal(found.at(-1), "continuation/4/1");
});

Deno.test("Http2Session forgets streams that have ended", () => {
  const session = server();
  receiveAll(session, new Peer());
  const encoder = new HpackEncoder();
  for (let stream = 1; stream < 20_000; stream += 2) {
    const request = new Http2Output();
    request.frame(headers, 5, stream, encoder.encode(get));
    session.receive(request.take(), stream);
    session.sendFields(stream, [[":status", "200"]], true);
    session.takeOutput();
  }
  assert.equal(session.openStreams, 0);
});
