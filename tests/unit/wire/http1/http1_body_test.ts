import assert from "node:assert/strict";
import {
  decodeRequestHead,
  decodeResponseHead,
  Http1Problem,
  requestFraming,
  responseFraming,
} from "../../../../src/wire/mod.ts";
import { latin1Bytes } from "../../../../src/wire/http1/http1_text.ts";

function framingOfRequest(line: string, fields: string): unknown {
  const decoded = decodeRequestHead(latin1Bytes(`${line}\r\nHost: a\r\n${fields}\r\n`));
  assert.ok(decoded);
  return requestFraming(decoded.value);
}

function framingOfResponse(line: string, fields: string, method: string): unknown {
  const decoded = decodeResponseHead(latin1Bytes(`${line}\r\n${fields}\r\n`));
  assert.ok(decoded);
  return responseFraming(decoded.value, method);
}

const none = { kind: "none" };
const chunked = { kind: "chunked" };
const close = { kind: "close" };
const requests = [
  { fields: "", framing: none },
  { fields: "Content-Length: 0\r\n", framing: none },
  { fields: "Content-Length: 12\r\n", framing: { kind: "length", length: 12 } },
  { fields: "Content-Length: 12, 12\r\nContent-Length: 12\r\n", framing: { kind: "length", length: 12 } },
  { fields: "Transfer-Encoding: Chunked\r\n", framing: chunked },
];
for (const { fields, framing } of requests) {
  Deno.test(`requestFraming() is ${framing.kind} for ${JSON.stringify(fields)}`, () => {
    assert.deepEqual(framingOfRequest("POST / HTTP/1.1", fields), framing);
  });
}

const refused = [
  { fields: "Content-Length: 1\r\nContent-Length: 2\r\n", status: 400 },
  { fields: "Content-Length: 1, 2\r\n", status: 400 },
  { fields: "Content-Length: +1\r\n", status: 400 },
  { fields: "Content-Length: -1\r\n", status: 400 },
  { fields: "Content-Length: 0x10\r\n", status: 400 },
  { fields: "Content-Length:\r\n", status: 400 },
  { fields: "Content-Length: 1,\r\n", status: 400 },
  { fields: "Content-Length: 99999999999999999999\r\n", status: 400 },
  { fields: "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", status: 400 },
  { fields: "Transfer-Encoding: chunked\r\ncontent-length: 0\r\n", status: 400 },
  { fields: "Transfer-Encoding: gzip, chunked\r\n", status: 501 },
  { fields: "Transfer-Encoding: xchunked, chunked\r\n", status: 501 },
  { fields: "Transfer-Encoding: gzip\r\n", status: 400 },
  { fields: "Transfer-Encoding: chunked, gzip\r\n", status: 400 },
  { fields: "Transfer-Encoding: chunked, chunked\r\n", status: 400 },
  { fields: "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", status: 400 },
  { fields: "Transfer-Encoding:\r\n", status: 400 },
  { fields: "Transfer-Encoding: \x0bchunked\r\n", status: 400 },
  { fields: "Transfer-Encoding: chunked\xa0\r\n", status: 400 },
  { fields: "Content-Length: 3\xa0\r\n", status: 400 },
];
for (const { fields, status } of refused) {
  Deno.test(`requestFraming() rejects ${JSON.stringify(fields)} with ${status}`, () => {
    assert.throws(
      () => framingOfRequest("POST / HTTP/1.1", fields),
      (error) => error instanceof Http1Problem && error.status === status,
    );
  });
}

Deno.test("requestFraming() rejects Transfer-Encoding in HTTP/1.0 and CONNECT with a body", () => {
  assert.throws(() => framingOfRequest("POST / HTTP/1.0", "Transfer-Encoding: chunked\r\n"), Http1Problem);
  assert.throws(() => framingOfRequest("CONNECT a:1 HTTP/1.1", "Content-Length: 3\r\n"), Http1Problem);
  assert.deepEqual(framingOfRequest("CONNECT a:1 HTTP/1.1", "Content-Length: 0\r\n"), none);
});

const length = "Content-Length: 5\r\n";
const responses = [
  { line: "HTTP/1.1 200 OK", method: "GET", fields: length, framing: { kind: "length", length: 5 } },
  { line: "HTTP/1.1 200 OK", method: "GET", fields: "", framing: close },
  { line: "HTTP/1.1 200 OK", method: "GET", fields: "Content-Length: 0\r\n", framing: none },
  { line: "HTTP/1.1 200 OK", method: "GET", fields: "Transfer-Encoding: chunked\r\n", framing: chunked },
  { line: "HTTP/1.1 200 OK", method: "HEAD", fields: length, framing: none },
  { line: "HTTP/1.1 204 No Content", method: "GET", fields: length, framing: none },
  { line: "HTTP/1.1 304 Not Modified", method: "GET", fields: length, framing: none },
  { line: "HTTP/1.1 100 Continue", method: "POST", fields: length, framing: none },
  { line: "HTTP/1.1 101 Switching Protocols", method: "GET", fields: length, framing: none },
  { line: "HTTP/1.1 200 OK", method: "CONNECT", fields: length, framing: none },
  { line: "HTTP/1.1 407 No", method: "CONNECT", fields: length, framing: { kind: "length", length: 5 } },
];
for (const { line, method, fields, framing } of responses) {
  Deno.test(`responseFraming() is ${framing.kind} for ${method} and ${JSON.stringify(`${line} ${fields}`)}`, () => {
    assert.deepEqual(framingOfResponse(line, fields, method), framing);
  });
}

Deno.test("responseFraming() rejects ambiguous framing with 502", () => {
  for (const fields of [`${length}Transfer-Encoding: chunked\r\n`, "Transfer-Encoding: gzip, chunked\r\n"]) {
    assert.throws(
      () => framingOfResponse("HTTP/1.1 200 OK", fields, "GET"),
      (error) => error instanceof Http1Problem && error.status === 502,
    );
  }
});
