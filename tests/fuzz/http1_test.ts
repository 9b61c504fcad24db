import { fuzzRuns } from "../support/fuzz_runs.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import { Deadlines, Messages } from "../../src/core/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { copyBody } from "../../src/http/mod.ts";
import { type PageRequest, serveOnlyPages, textPage } from "../../src/listeners/mod.ts";
import {
  ChunkedDecoder,
  decodeRequestHead,
  decodeResponseHead,
  encodeChunk,
  encodeLastChunk,
  encodeRequestHead,
  encodeResponseHead,
  Fields,
  type Framing,
  Http1Problem,
  requestFraming,
  requestTarget,
  responseFraming,
} from "../../src/wire/mod.ts";
import { latin1Bytes } from "../../src/wire/http1/http1_text.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryPair, readAll } from "../support/memory_conn.ts";
import { recordingLog } from "../support/recording_log.ts";

const tokenCharacters = [..."!#$%&'*+-.^_`|~0123456789abcXYZ"];
const token = fc.string({ unit: fc.constantFrom(...tokenCharacters), minLength: 1, maxLength: 20 });
const characters = (pattern: RegExp) =>
  fc.constantFrom(
    ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter((character) =>
      pattern.test(character)
    ),
  );
const value = fc.string({ unit: characters(/[\t\x20-\x7e\x80-\xff]/), maxLength: 40 }).map((text) =>
  text.replace(/^[\t ]+|[\t ]+$/g, "")
);
const fields = fc.array(fc.tuple(token.filter((name) => name.toLowerCase() !== "host"), value), {
  maxLength: 12,
});
const target = fc.string({ unit: characters(/[\x21-\x7e\x80-\xff]/), minLength: 1, maxLength: 60 });
const version = fc.constantFrom("1.0", "1.1" as const);

Deno.test("decodeRequestHead() reverses encodeRequestHead() and asks for more at every cut", () => {
  fc.assert(fc.property(token, target, version, fields, (method, target, version, more) => {
    const head = { method, target, version, fields: [["Host", "a"], ...more] as [string, string][] };
    const bytes = encodeRequestHead(head);
    const decoded = decodeRequestHead(bytes);
    assert.equal(decoded?.used, bytes.length);
    assert.deepEqual({ ...decoded.value, fields: [...decoded.value.fields] }, head);
    for (let cut = 0; cut < bytes.length; cut += 1 + cut % 7) {
      assert.equal(decodeRequestHead(bytes.subarray(0, cut)), undefined);
    }
  }));
});

Deno.test("decodeResponseHead() reverses encodeResponseHead() and asks for more at every cut", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 999 }),
      value,
      version,
      fields,
      (status, reason, version, list) => {
        const bytes = encodeResponseHead({ status, reason, version, fields: list });
        const decoded = decodeResponseHead(bytes);
        assert.equal(decoded?.used, bytes.length);
        assert.deepEqual({ ...decoded.value, fields: [...decoded.value.fields] }, {
          status,
          reason,
          version,
          fields: list,
        });
        for (let cut = 0; cut < bytes.length; cut += 1 + cut % 7) {
          assert.equal(decodeResponseHead(bytes.subarray(0, cut)), undefined);
        }
      },
    ),
  );
});

/** Texts that partly look like HTTP, because readers refuse most random texts at the first line. */
const nearly = fc.array(
  fc.oneof(
    fc.constantFrom(
      "GET ",
      "POST ",
      "CONNECT ",
      "/",
      "http://",
      "a.example:80",
      " HTTP/1.1",
      " HTTP/1.0",
      "\r\n",
      "\n",
    ),
    fc.constantFrom(
      "HTTP/1.1 ",
      "200 ",
      "Host: a",
      "Content-Length: 5",
      "Content-Length: 6",
      "Connection: close",
    ),
    fc.constantFrom(
      "Transfer-Encoding: chunked",
      "Expect: 100-continue",
      ":",
      " ",
      "\t",
      "\0",
      "5\r\nhello\r\n",
      "0\r\n\r\n",
    ),
    fc.string({ unit: characters(/[^]/), maxLength: 8 }),
  ),
  { maxLength: 24 },
).map((parts) => parts.join(""));

Deno.test("any bytes give a head, a request for more, or a protocol error with a status", () => {
  fc.assert(
    fc.property(fc.oneof(nearly, nearly.map((text) => `${text}\r\n\r\n`)), (text) => {
      const bytes = latin1Bytes(text);
      orProblem(() => {
        const request = decodeRequestHead(bytes);
        if (!request) return;
        assert.ok(request.used <= bytes.length);
        requestTarget(request.value);
        requestFraming(request.value);
      });
      orProblem(() => {
        const response = decodeResponseHead(bytes);
        if (response) responseFraming(response.value, "GET");
      });
      orProblem(() => new ChunkedDecoder().next(bytes));
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

const body = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 8 });

Deno.test("copyBody() returns the same body for any chunks, cuts and framing", async () => {
  await fc.assert(fc.asyncProperty(
    body,
    fields,
    fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
    fc.constantFrom("length", "chunked", "close" as const),
    async (pieces, trailers, cuts, kind) => {
      const plain = concat(pieces);
      const chunks = [...pieces.map((piece) => encodeChunk(piece)), encodeLastChunk(trailers)];
      const sent = kind === "chunked" ? concat(chunks) : plain;
      const framing: Framing = kind === "length" ? { kind, length: plain.length } : { kind };
      const [near, far] = memoryPair({ capacity: 700 });
      const writing = (async () => {
        const after = kind === "close" ? sent : concat([sent, latin1Bytes("next")]);
        for (let at = 0, turn = 0; at < after.length; turn++) {
          const size = cuts[turn % cuts.length] ?? 1;
          await near.write(after.slice(at, at + size));
          at += size;
        }
        await near.closeWrite();
      })();
      const messages = new Messages(far, { initial: 64 });
      const received: Uint8Array[] = [];
      const heard = await copyBody(
        messages,
        framing,
        (bytes) => Promise.resolve(void received.push(bytes.slice())),
      );
      assert.deepEqual(concat(received), plain);
      assert.deepEqual([...heard], kind === "chunked" ? trailers : []);
      while (await messages.fill());
      await writing;
      assert.equal(new TextDecoder().decode(messages.rest()), kind === "close" ? "" : "next");
    },
  ));
});

Deno.test("a truncated chunked body is never complete", async () => {
  await fc.assert(fc.asyncProperty(body, fc.nat(), async (pieces, at) => {
    const whole = concat([...pieces.map((piece) => encodeChunk(piece)), encodeLastChunk()]);
    const [near, far] = memoryPair();
    await near.write(whole.slice(0, at % whole.length));
    await near.closeWrite();
    await assert.rejects(
      copyBody(new Messages(far), { kind: "chunked" }, () => Promise.resolve()),
      (error) => error instanceof PosternError && error.code === "protocol",
    );
  }));
});

Deno.test("serveOnlyPages() survives any client and reads the same requests for any cuts", async () => {
  await fc.assert(
    fc.asyncProperty(nearly, nearly, fc.integer({ min: 1, max: 30 }), async (first, second, size) => {
      const bytes = latin1Bytes(`GET /first HTTP/1.1\r\nHost: a\r\n\r\n${first}\r\n\r\n${second}`);
      const whole = await served(bytes, bytes.length);
      assert.deepEqual(await served(bytes, size), whole);
      assert.equal(whole.requests[0]?.path, "/first");
      assert.match(whole.answer, /^HTTP\/1\.1 200 OK\r\n/);
    }),
    { numRuns: fuzzRuns(500) },
  );
});

async function served(
  bytes: Uint8Array,
  size: number,
): Promise<{ requests: Partial<PageRequest>[]; answer: string }> {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  const requests: Partial<PageRequest>[] = [];
  const serving = serveOnlyPages(
    far,
    new Messages(far),
    ({ method, path, body }) => {
      requests.push({ method, path, body });
      return Promise.resolve(textPage("ok"));
    },
    { clock, log: recordingLog(), deadlines: new Deadlines(clock) },
    { signal: new AbortController().signal },
  );
  const answer = readAll(near);
  for (let at = 0; at < bytes.length; at += size) {
    // The server may close before it reads the rest, which a client must expect.
    await near.write(bytes.slice(at, at + size)).catch((error) => assert.match(String(error), /reset|end/));
  }
  await near.closeWrite();
  await serving;
  assert.equal(clock.waiting, 0);
  return { requests, answer: new TextDecoder().decode(await answer) };
}

function orProblem(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Http1Problem)) throw error;
    assert.equal(error.code, "protocol");
    assert.ok([400, 431, 501, 502, 505].includes(error.status), `status ${error.status}`);
    assert.match(error.message, /^Cannot /);
  }
}

function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

Deno.test("Fields keeps its input", () => {
  fc.assert(fc.property(fields, (list) => {
    assert.deepEqual([...new Fields(list)], list);
    for (const [name] of list) {
      const expected = list.filter(([other]) => other.toLowerCase() === name.toLowerCase()).map(([, text]) =>
        text
      );
      assert.deepEqual(new Fields(list).all(name.toUpperCase()), expected);
      assert.equal(new Fields(list).without([name]).has(name), false);
    }
  }));
});
