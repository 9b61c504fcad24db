import assert from "node:assert/strict";
import {
  ChunkedDecoder,
  decodeRequestHead,
  decodeResponseHead,
  decodeSocks4Reply,
  decodeSocks4Request,
  decodeSocks5Choice,
  decodeSocks5Credentials,
  decodeSocks5Datagram,
  decodeSocks5Greeting,
  decodeSocks5Reply,
  decodeSocks5Request,
  decodeSocks5Verdict,
  requestFraming,
  requestTarget,
  responseFraming,
} from "../../../src/wire/mod.ts";
import { type Bytes, decoding, type FuzzTarget, inPieces, refusedOr } from "../fuzz_target.ts";

/** Readers of requests from clients and answers of upstream proxies. */
export const proxyTargets: readonly FuzzTarget[] = [
  {
    name: "socks",
    words: [
      "\x05\x01\x00",
      "\x05\x02\x00\x02",
      "\x04\x01",
      "\x05\x01\x00\x03",
      "\x00\x00\x00\x03",
      "\x05\xf0\x00\x03",
      "\x05\x01\x00\x01",
      "\x00\x50",
      "a.b",
    ],
    laws: (input) => {
      decoding(decodeSocks4Request, input);
      decoding(decodeSocks4Reply, input);
      decoding(decodeSocks5Greeting, input);
      decoding(decodeSocks5Choice, input);
      decoding(decodeSocks5Credentials, input);
      decoding(decodeSocks5Verdict, input);
      decoding(decodeSocks5Request, input);
      decoding(decodeSocks5Reply, input);
      decoding(decodeSocks5Datagram, input);
    },
  },
  {
    name: "http",
    words: [
      ...[
        "GET ",
        "CONNECT ",
        "http://a/",
        "a.b:443",
        "*",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "HTTP/1.1 200 OK\r\n",
      ],
      ...["Host: a\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n"],
      ...[
        "\r\n",
        "\r\n\r\n",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "\t",
        ";ext=1",
        "Trailer: x\r\n",
        "[::1]:80",
        "%41",
      ],
    ],
    laws: (input) => {
      decoding(decodeRequestHead, input);
      decoding(decodeResponseHead, input);
      refusedOr(() => {
        const head = decodeRequestHead(input)?.value;
        if (head) [requestTarget(head), requestFraming(head)];
      });
      refusedOr(() => {
        const head = decodeResponseHead(input)?.value;
        if (head) responseFraming(head, "GET");
      });
      const whole = chunkedBody([input]);
      const pieces = chunkedBody(inPieces(input));
      // The reader may report a long line earlier or later; the rest is the same.
      if (whole !== undefined && pieces !== undefined) assert.equal(pieces, whole);
    },
  },
];

/** Returns the body and whether it has ended, or undefined after an error. */
function chunkedBody(pieces: readonly Bytes[]): string | undefined {
  const decoder = new ChunkedDecoder();
  let body = "";
  let left: Bytes = new Uint8Array();
  return refusedOr(() => {
    for (const piece of pieces) {
      left = Uint8Array.of(...left, ...piece);
      for (let part = decoder.next(left); part; part = decoder.next(left)) {
        assert.ok(part.used > 0 && part.used <= left.length);
        left = left.slice(part.used);
        if (part.value.kind === "end") return `${body} ended`;
        body += part.value.bytes.toHex();
      }
    }
    return body;
  });
}
