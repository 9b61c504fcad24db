import assert from "node:assert/strict";
import { decodeDnsMessage, dnsFrameDecoder, encodeDnsMessage } from "../../../src/dns/mod.ts";
import { decodeDnsHeader } from "../../../src/dns/messages/dns_message.ts";
import { decoding, type FuzzTarget, refusedOr } from "../fuzz_target.ts";

/** Readers of DNS messages. */
export const dnsTargets: readonly FuzzTarget[] = [{
  name: "dns",
  words: [
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00",
    ...[
      "\x01a\x07example\x03net\x00",
      "\x00\x01\x00\x01",
      "\x00\x1c\x00\x01",
      "\x00\x21\x00\x01",
      "\xc0\x0c",
    ],
    ...[
      "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00",
      "\x00\x00\x01\x2c\x00\x04\x0a\x00\x00\x01",
      "\xc0\x00",
    ],
    ...["\x3f", "\xff\xff"],
  ],
  laws: (input) => {
    decoding(dnsFrameDecoder(), input);
    refusedOr(() => decodeDnsHeader(input));
    const read = refusedOr(() => decodeDnsMessage(input));
    if (!read) return;
    assert.ok(read.used >= 12 && read.used <= input.length);
    // Encoding the value and decoding it again gives the same value.
    assert.deepEqual(decodeDnsMessage(encodeDnsMessage(read.value))?.value, read.value);
  },
}];
