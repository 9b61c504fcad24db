import assert from "node:assert/strict";
import {
  decodeRequestHead,
  decodeResponseHead,
  encodeRequestHead,
  encodeResponseHead,
  headDecoders,
  Http1Problem,
  isPersistent,
} from "../../../../src/wire/mod.ts";
import { latin1Bytes } from "../../../../src/wire/http1/http1_text.ts";

const bytes = latin1Bytes;

Deno.test("decodeRequestHead() keeps the fields' order and case and leaves the body", () => {
  const text = "POST /a?b HTTP/1.1\r\nhOST: x.example\r\nX-A:  1 \r\nx-a:\t\xe9\r\nEmpty:\r\n\r\n";
  const decoded = decodeRequestHead(bytes(`${text}body`));
  assert.equal(decoded?.used, text.length);
  assert.equal(decoded.value.method, "POST");
  assert.equal(decoded.value.target, "/a?b");
  assert.deepEqual([...decoded.value.fields], [["hOST", "x.example"], ["X-A", "1"], ["x-a", "\xe9"], [
    "Empty",
    "",
  ]]);
});

Deno.test("decodeRequestHead() skips empty lines before the request line", () => {
  const text = "\r\n\r\nGET / HTTP/1.0\r\n\r\n";
  assert.equal(decodeRequestHead(bytes(text))?.used, text.length);
});

Deno.test("decodeRequestHead() asks for more at every cut", () => {
  const whole = bytes("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nA: b\r\n\r\n");
  for (let cut = 0; cut < whole.length; cut++) {
    assert.equal(decodeRequestHead(whole.subarray(0, cut)), undefined, `cut at ${cut}`);
  }
  assert.equal(decodeRequestHead(whole)?.used, whole.length);
});

const refused: readonly { name: string; text: string; status?: number }[] = [
  { name: "a bare LF", text: "GET / HTTP/1.1\nHost: a\n\n" },
  { name: "a bare LF in an incomplete head", text: "GET / HTTP/1.1\n" },
  { name: "a bare LF as the empty line", text: "GET / HTTP/1.1\r\nHost: a\r\n\n" },
  { name: "a bare CR in a value", text: "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n" },
  { name: "NUL in a value", text: "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n" },
  { name: "a folded line", text: "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2: 3\r\n\r\n" },
  { name: "a folded line without a colon", text: "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\t2\r\n\r\n" },
  { name: "a space before the colon", text: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n" },
  { name: "an empty name", text: "GET / HTTP/1.1\r\nHost: a\r\n: 3\r\n\r\n" },
  { name: "no colon", text: "GET / HTTP/1.1\r\nHost: a\r\nfoo\r\n\r\n" },
  { name: "two spaces in the request line", text: "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a space at the end of the request line", text: "GET / HTTP/1.1 \r\nHost: a\r\n\r\n" },
  { name: "no version", text: "GET /\r\nHost: a\r\n\r\n" },
  { name: "a method that is not a token", text: "G(T / HTTP/1.1\r\nHost: a\r\n\r\n" },
  { name: "a lowercase version", text: "GET / http/1.1\r\nHost: a\r\n\r\n" },
  { name: "the preface of HTTP/2", text: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505 },
  { name: "no Host", text: "GET / HTTP/1.1\r\n\r\n" },
  { name: "two Hosts", text: "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" },
  { name: "1001 fields", text: `GET / HTTP/1.0\r\n${"a: b\r\n".repeat(1001)}\r\n`, status: 431 },
  {
    name: "a complete head over the limit",
    text: `GET / HTTP/1.0\r\na: ${"b".repeat(65536)}\r\n\r\n`,
    status: 431,
  },
  { name: "an endless head", text: `GET /${"b".repeat(65536)}`, status: 431 },
];
for (const { name, text, status = 400 } of refused) {
  Deno.test(`decodeRequestHead() rejects ${name} with ${status}`, () => {
    assert.throws(() => decodeRequestHead(bytes(text)), (error) => {
      assert.ok(error instanceof Http1Problem);
      assert.equal(error.code, "protocol");
      assert.equal(error.status, status);
      return true;
    });
  });
}

Deno.test("decodeRequestHead() does not quote a folded line, which may hold a password", () => {
  for (const rest of [" c2VjcmV0", "\tc2VjcmV0", "c2VjcmV0"]) {
    const head = `GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic bWU6\r\n${rest}\r\n\r\n`;
    assert.throws(() => decodeRequestHead(bytes(head)), (error) => {
      assert.ok(error instanceof Http1Problem);
      assert.equal(error.message.includes("a folded field line"), rest !== "c2VjcmV0");
      return !error.message.includes("c2VjcmV0");
    });
  }
});

Deno.test("decodeRequestHead() accepts CONNECT and absolute-form without Host", () => {
  for (const line of ["CONNECT a.example:443 HTTP/1.1", "GET http://a.example/ HTTP/1.1", "GET / HTTP/1.0"]) {
    assert.ok(decodeRequestHead(bytes(`${line}\r\n\r\n`)), line);
  }
});

Deno.test("decodeRequestHead() accepts a head of exactly 64 KiB", () => {
  const start = "GET / HTTP/1.0\r\na: ";
  const text = `${start}${"b".repeat(65536 - start.length - 4)}\r\n\r\n`;
  assert.equal(decodeRequestHead(bytes(text))?.used, 65536);
});

const responses = [
  { line: "HTTP/1.1 200 OK", status: 200, reason: "OK" },
  { line: "HTTP/1.0 404 Not Found", status: 404, reason: "Not Found" },
  { line: "HTTP/1.1 200 ", status: 200, reason: "" },
  { line: "HTTP/1.1 299", status: 299, reason: "" },
  { line: "HTTP/1.1 200 d\xe9j\xe0  vu", status: 200, reason: "d\xe9j\xe0  vu" },
];
for (const { line, status, reason } of responses) {
  Deno.test(`decodeResponseHead() reads "${line}"`, () => {
    const decoded = decodeResponseHead(bytes(`${line}\r\nA: b\r\n\r\n`));
    assert.equal(decoded?.value.status, status);
    assert.equal(decoded.value.reason, reason);
    assert.equal(decoded.value.fields.get("a"), "b");
  });
}

Deno.test("decodeRequestHead() reads a newer minor version as HTTP/1.1", () => {
  assert.equal(decodeRequestHead(bytes("GET / HTTP/1.2\r\nHost: a\r\n\r\n"))?.value.version, "1.1");
});

Deno.test("headDecoders.request() and headDecoders.response() keep their own limits and name the setting", () => {
  const limits = { head: 100_000, line: 70_000, hint: "raise it" };
  const decoders = [
    { decode: () => headDecoders.request(limits), start: "GET / HTTP/1.0\r\n", status: 431 },
    { decode: () => headDecoders.response(limits), start: "HTTP/1.0 200 OK\r\n", status: 502 },
  ];
  for (const { decode, start, status } of decoders) {
    const fits = `${start}${`a: ${"b".repeat(49_000)}\r\n`.repeat(2)}\r\n`;
    assert.equal(decode()(bytes(fits))?.used, fits.length);
    const refused = [
      {
        text: `${start}${`a: ${"b".repeat(49_000)}\r\n`.repeat(3)}\r\n`,
        what: "a head of more than 100000 bytes",
      },
      { text: `${start}a: ${"b".repeat(71_000)}\r\n\r\n`, what: "a line of more than 70000 bytes" },
      { text: `${start}a: ${"b".repeat(71_000)}`, what: "a line of more than 70000 bytes" },
    ];
    for (const { text, what } of refused) {
      assert.throws(() => decode()(bytes(text)), (error) => {
        assert.ok(error instanceof Http1Problem);
        assert.deepEqual([error.status, error.message, error.hint], [
          status,
          `Cannot read ${what}`,
          "raise it",
        ]);
        return true;
      });
    }
  }
});

Deno.test("headDecoders.request() does not read a line again when a head arrives in small pieces", () => {
  const limits = { head: 256 * 1024, line: 64 * 1024 };
  const text = `\r\nGET / HTTP/1.1\r\nHost: a\r\n${`b: ${"c".repeat(250)}\r\n`.repeat(900)}\r\n`;
  const whole = bytes(text);
  const decode = headDecoders.request(limits);
  let searched = 0;
  const watched = (piece: Uint8Array<ArrayBuffer>) => {
    const { indexOf } = piece;
    piece.indexOf = (value: number, from = 0) => {
      const found = indexOf.call(piece, value, from);
      searched += (found < 0 ? piece.length : found) - from;
      return found;
    };
    return piece;
  };
  for (let cut = 1; cut < whole.length; cut++) {
    assert.equal(decode(watched(whole.subarray(0, cut))), undefined);
  }
  assert.equal(decode(watched(whole))?.used, whole.length);
  assert.ok(searched < whole.length * 300, `${searched} bytes searched`);
});

Deno.test("decodeResponseHead() removes spaces before a colon, and joins a folded line", () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type : text/html\r\nContent-Length \t: 3\r\n\r\n";
  const { fields } = decodeResponseHead(bytes(head))?.value ?? assert.fail();
  assert.deepEqual([...fields], [["Content-Type", "text/html"], ["Content-Length", "3"]]);
  for (
    const { folded, value } of [
      { folded: " b: c", value: "b b: c" },
      { folded: "\tb\r\n  c", value: "b b c" },
      { folded: " : c", value: "b : c" },
      { folded: " ", value: "b" },
      { folded: " \xc3\xa0", value: "b \xc3\xa0" },
    ]
  ) {
    const text = `HTTP/1.1 200 OK\r\nA: b\r\n${folded}\r\nC: d\r\n\r\n`;
    assert.deepEqual([...decodeResponseHead(bytes(text))?.value.fields ?? []], [["A", value], ["C", "d"]]);
  }
});

Deno.test("decodeResponseHead() rejects a fold before the first field, a control character in it, and 1001 lines", () => {
  for (const lines of [" a: b\r\n", "A: b\r\n c\0\r\n", `A: b\r\n${" c\r\n".repeat(1000)}`]) {
    assert.throws(
      () => decodeResponseHead(bytes(`HTTP/1.1 200 OK\r\n${lines}\r\n`)),
      (error) => error instanceof Http1Problem && error.status === 502,
    );
  }
});

for (
  const line of [
    "HTTP/1.1 20 OK",
    "HTTP/1.1 2000 OK",
    "HTTP/2 200",
    "HTTP/1.1  200 OK",
    "ICY 200 OK",
    "HTTP/1.1 0200",
  ]
) {
  Deno.test(`decodeResponseHead() rejects "${line}" with 502`, () => {
    assert.throws(
      () => decodeResponseHead(bytes(`${line}\r\n\r\n`)),
      (error) => error instanceof Http1Problem && error.status === 502,
    );
  });
}

Deno.test("decodeRequestHead() decodes encodeRequestHead() output", () => {
  const fields: [string, string][] = [["Host", "a.example"], ["X-Latin", "\xfc"]];
  const encoded = encodeRequestHead({ method: "GET", target: "/\xe9", fields });
  const decoded = decodeRequestHead(encoded);
  assert.equal(decoded?.used, encoded.length);
  assert.equal(decoded.value.target, "/\xe9");
  assert.deepEqual([...decoded.value.fields], fields);
});

Deno.test("encodeResponseHead() adds the usual reason", () => {
  const encoded = encodeResponseHead({ status: 431, fields: [["A", "b"]] });
  assert.equal(
    new TextDecoder().decode(encoded),
    "HTTP/1.1 431 Request Header Fields Too Large\r\nA: b\r\n\r\n",
  );
});

const injections: readonly { name: string; write: () => unknown }[] = [
  {
    name: "a line break in a value",
    write: () => encodeResponseHead({ status: 200, fields: [["A", "b\r\nC: d"]] }),
  },
  {
    name: "a bare LF in a value",
    write: () => encodeResponseHead({ status: 200, fields: [["A", "b\nC: d"]] }),
  },
  {
    name: "a character outside Latin-1",
    write: () => encodeResponseHead({ status: 200, fields: [["A", "č"]] }),
  },
  { name: "a space in a name", write: () => encodeResponseHead({ status: 200, fields: [["A b", "c"]] }) },
  {
    name: "a line break in the reason",
    write: () => encodeResponseHead({ status: 200, reason: "a\r\nb", fields: [] }),
  },
  { name: "a status of four digits", write: () => encodeResponseHead({ status: 2000, fields: [] }) },
  {
    name: "a space in the target",
    write: () => encodeRequestHead({ method: "GET", target: "/ x", fields: [] }),
  },
  {
    name: "a line break in the method",
    write: () => encodeRequestHead({ method: "G\r\n", target: "/", fields: [] }),
  },
];
for (const { name, write } of injections) {
  Deno.test(`encode…Head() rejects ${name}`, () => {
    assert.throws(write, (error) => error instanceof Http1Problem && error.code === "protocol");
  });
}

const persistence = [
  { head: "HTTP/1.1", persistent: true },
  { head: "HTTP/1.1\r\nConnection: close", persistent: false },
  { head: "HTTP/1.1\r\nConnection: foo\r\nconnection: bar, Close", persistent: false },
  { head: "HTTP/1.0", persistent: false },
  { head: "HTTP/1.0\r\nConnection: Keep-Alive", persistent: true },
];
for (const { head, persistent } of persistence) {
  Deno.test(`isPersistent() is ${persistent} for ${JSON.stringify(head)}`, () => {
    const decoded = decodeRequestHead(bytes(`GET / ${head}\r\nHost: a\r\n\r\n`));
    assert.ok(decoded);
    assert.equal(isPersistent(decoded.value), persistent);
  });
}
