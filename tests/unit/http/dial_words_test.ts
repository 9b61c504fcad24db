import assert from "node:assert/strict";
import { dialCode } from "../../../src/http/dial_words.ts";

/** Texts of Go's `net` package, of upstream's agent and of postern's own agent, which clients map to codes. */
const texts = [
  ["dial tcp 10.0.0.1:80: connect: connection refused", "refused"],
  ["Cannot reach 10.0.0.1:80: connection refused", "refused"],
  ["dial tcp: lookup a.test on 10.0.0.10:53: no such host", "name_not_found"],
  ["lookup a.test on 10.0.0.10:53: server misbehaving", "name_not_found"],
  ["getaddrinfo: Name or service not known", "name_not_found"],
  ["dial tcp 10.0.0.1:80: i/o timeout", "timeout"],
  ["context deadline exceeded", "timeout"],
  ["the connection timed out", "timeout"],
  ["network not allowed by the agent", "not_allowed"],
  ["operation not permitted", "not_allowed"],
  ["protocol udp not supported", "not_allowed"],
  ["no route to host", undefined],
  ["", undefined],
] as const;
for (const [text, code] of texts) {
  Deno.test(`dialCode() maps ${JSON.stringify(text)} to ${code}`, () => assert.equal(dialCode(text), code));
}
