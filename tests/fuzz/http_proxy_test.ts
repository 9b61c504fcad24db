import { fuzzRuns } from "../support/fuzz_runs.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import { serveMixed } from "../../src/listeners/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { bytesOf, serveClient } from "../support/fake_dial.ts";
import { type MemoryConn, readAll } from "../support/memory_conn.ts";

const word = fc.string({ unit: fc.constantFrom(..."ghkxyz"), minLength: 1, maxLength: 12 });
const field = fc.oneof(
  fc.tuple(word, word).map(([name, value]) => `X-${name}: ${value}`),
  fc.constantFrom(
    "Connection: close",
    "Connection: keep-alive, X-a",
    "Proxy-Connection: keep-alive",
    "Proxy-Authorization: Basic c2VjcmV0OnNlY3JldA==",
    "Keep-Alive: 5",
    "TE: trailers",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Expect: 100-continue",
    "Cookie: a=b",
  ),
);
const body = fc.oneof(
  fc.constant({ framing: "", sent: "" }),
  word.map((text) => ({ framing: `Content-Length: ${text.length}\r\n`, sent: text })),
  fc.array(word, { maxLength: 4 }).map((chunks) => ({
    framing: "Transfer-Encoding: chunked\r\n",
    sent: chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("") + "0\r\n\r\n",
  })),
);
const request = fc.tuple(
  fc.constantFrom("GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE", "FOO"),
  fc.constantFrom("http://a", "http://b:81", "http://u:p@b:81", "ws://a", "https://a", ""),
  word,
  fc.constantFrom("1.1", "1.1", "1.0"),
  fc.array(field, { maxLength: 5 }),
  body,
).map(([method, origin, path, version, fields, { framing, sent }]) =>
  `${method} ${origin}/${path} HTTP/${version}\r\nHost: h\r\n${
    fields.map((line) => `${line}\r\n`).join("")
  }` +
  `${framing}\r\n${sent}`
);
const requests = fc.tuple(
  fc.array(request, { minLength: 1, maxLength: 4 }),
  fc.constantFrom("", "CONNECT c:1 HTTP/1.1\r\n\r\nearly"),
)
  .map(([list, last]) => list.join("") + last);
const edit = fc.tuple(fc.nat(), fc.constantFrom(..."\r\n :;,/0aZ\0\xff", "\r\n", "chunked"));
/** Requests, including damaged ones. */
const input = fc.tuple(requests, fc.oneof(fc.constant([]), fc.array(edit, { maxLength: 3 }))).map(
  ([text, edits]) => {
    let damaged = text;
    for (const [at, piece] of edits) {
      const place = at % damaged.length;
      damaged = damaged.slice(0, place) + piece + damaged.slice(place + 1);
    }
    return Uint8Array.from(damaged, (character) => character.charCodeAt(0));
  },
);
const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 10 });
const answers = fc.array(
  fc.constantFrom(
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok!",
    "HTTP/1.0 200 OK\r\n\r\nok",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 407 Who\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
    "SSH-2.0-x\r\n",
    "\0\0\0\0",
  ),
  { maxLength: 6 },
);

interface World {
  /** The bytes that each origin received. */
  readonly received: readonly string[];
  readonly sent: string;
}

/** A server that sends the next of `replies` when it receives data or on command. */
class Origin {
  received = "";
  readonly #target: MemoryConn;
  readonly #replies: string[];
  readonly #isPatient: boolean;
  #isAsked = false;
  readonly over: Promise<void>;

  constructor(target: MemoryConn, replies: string[], isPatient: boolean) {
    this.#target = target;
    this.#replies = replies;
    this.#isPatient = isPatient;
    this.over = this.#run();
  }

  async answer(): Promise<void> {
    if (!this.#isAsked) return;
    this.#isAsked = false;
    await this.#target.write(bytesOf(this.#replies.shift() ?? "")).catch(assertError);
  }

  async #run(): Promise<void> {
    const into = new Uint8Array(1000);
    try {
      for (let count = await this.#target.read(into); count !== null; count = await this.#target.read(into)) {
        this.received += String.fromCharCode(...into.subarray(0, count));
        this.#isAsked = true;
        if (!this.#isPatient) await this.answer();
      }
    } catch (error) {
      assertError(error);
    }
    await this.#target[Symbol.asyncDispose]();
  }
}

function assertError(error: unknown): void {
  assert(error instanceof Error);
}

/** Sends `bytes` in pieces as a client, lets origins answer, and waits for the end. */
async function play(
  bytes: Uint8Array<ArrayBuffer>,
  pieces: readonly number[],
  { replies, isPatient = false }: { replies: readonly string[]; isPatient?: boolean },
): Promise<World> {
  const { client, served, dials, clock } = serveClient(serveMixed);
  const origins: Origin[] = [];
  const waiting = [...replies];
  const meet = () => {
    for (const { target } of dials.made.slice(origins.length)) {
      origins.push(new Origin(target, waiting, isPatient));
    }
  };
  const reading = readAll(client).catch(assertError);
  let at = 0;
  for (const piece of [...pieces, bytes.length]) {
    await client.write(bytes.subarray(at, at + piece)).catch(assertError);
    at += piece;
    await settle();
    meet();
  }
  await client.closeWrite();
  for (let turn = 0; turn < 12; turn++) {
    // Run all pending work before an answer or a deadline.
    for (let pass = 0; pass < 10; pass++) await settle();
    for (const origin of origins) await origin.answer();
    for (let pass = 0; pass < 10; pass++) await settle();
    await clock.advance(10_000);
    meet();
  }
  client.abort();
  let isServed = false;
  void served.then(() => isServed = true);
  // postern serves requests that arrived together even if the client has gone.
  for (let turn = 0; turn < 12 && !isServed; turn++) {
    for (const { target } of dials.made) target.abort();
    await clock.advance(60_000);
  }
  assert(isServed, "postern still serves a client that has gone");
  meet();
  await reading;
  for (const { over } of origins) await over;
  for (const { outcome } of dials.made) assert.notEqual(outcome, undefined);
  assert.equal(clock.waiting, 0);
  return { received: origins.map(({ received }) => received), sent: String.fromCharCode(...bytes) };
}

/** Lines that postern itself writes: about the connection and the framing. */
const own = /^(Content-Length: [0-9]+|Transfer-Encoding: chunked|TE: trailers|Upgrade: .*|Connection: .*)$/;

/** Whether a URL in the text has this host, also in another spelling: `http://0:81` is `0.0.0.0:81`. */
function names(text: string, host: string): boolean {
  if (text.includes(`://${host}`)) return true;
  const urls = [...text.matchAll(/https?:\/\/[^\s/?#]*/gi)].map(([url]) => url);
  return urls.some((url) => URL.canParse(url) && new URL(url).host === host);
}

Deno.test("serveMixed() ends for any HTTP client and origin, and forwards only the client's bytes", async () => {
  await fc.assert(
    fc.asyncProperty(input, sizes, answers, async (bytes, pieces, replies) => {
      const { received, sent } = await play(bytes, pieces, { replies });
      for (const text of received) {
        assert.doesNotMatch(text.slice(0, text.indexOf("\r\n\r\n")), /^proxy-(authorization|connection):/im);
        assert.doesNotMatch(text, /^(GET|HEAD|POST|PUT|OPTIONS|DELETE|FOO) http:|^Host: .*@/m);
        for (const line of text.split(/\r\n/)) {
          if (line.startsWith("Host: ") && names(sent, line.slice(6))) continue;
          // The credentials of a URL become this field.
          if (line.startsWith("Authorization: Basic ") && sent.includes("@")) continue;
          if (sent.includes(line) || own.test(line) || /^[0-9a-f]{1,4}$/.test(line)) continue;
          const [, name, value] = /^([^:]+): (.*)$/.exec(line) ?? [];
          if (
            name !== undefined && value !== undefined && sent.includes(`${name}:`) && sent.includes(value)
          ) continue;
          const [, word = "", path = ""] = /^(\S*) (\S+) HTTP\/1\.1$/.exec(line) ?? [];
          // RFC 9112, section 3.2.4: OPTIONS for a URL without a path addresses the whole server.
          const isPathSent = path !== "" &&
            (sent.includes(path) || (path === "*" && word.endsWith("OPTIONS")));
          // A body without a line end directly precedes the next method.
          const isWordSent = [...word].some((_, at) =>
            sent.includes(word.slice(0, at)) && sent.includes(`${word.slice(at)} `)
          );
          assert(
            isPathSent && isWordSent,
            `the client never sent ${JSON.stringify(line)}`,
          );
        }
      }
    }),
    {
      numRuns: fuzzRuns(600),
      examples: [[new TextEncoder().encode("GET http://0:81/ HTTP/1.1\r\nHost: h\r\n\r\n"), [], []]],
    },
  );
});

Deno.test("serveMixed() forwards the same bytes for any cuts", async () => {
  await fc.assert(
    fc.asyncProperty(requests.map(bytesOf), sizes, async (bytes, pieces) => {
      const replies = Array.from({ length: 6 }, () => "HTTP/1.1 204 No Content\r\n\r\n");
      const whole = await play(bytes, [], { replies, isPatient: true });
      const cut = await play(bytes, pieces, { replies, isPatient: true });
      assert.equal(plain(cut.received.join("")), plain(whole.received.join("")));
    }),
    { numRuns: fuzzRuns(200) },
  );
});

/** Removes the sizes of chunks, which depend on the pieces. */
function plain(text: string): string {
  return text.replace(/(?<=\r\n)[0-9a-f]{1,2}\r\n/g, "").replaceAll("\r\n", "");
}
