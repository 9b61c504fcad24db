import assert from "node:assert/strict";
import { socks5Reply } from "../../../../src/words/mod.ts";
import { isShortage, openFailure } from "../../../../src/ssh/session/ssh_open_failure.ts";

const about = { target: { host: "db.example", port: 5432 }, through: "ssh jump1" };
const cases = [
  { reason: 1, description: "open failed", code: "not_allowed", reply: 2 },
  { reason: 2, description: "Connection refused", code: "refused", reply: 5 },
  { reason: 2, description: "Connection timed out", code: "timeout", reply: 6 },
  { reason: 2, description: "No route to host", code: "unreachable", reply: 4 },
  { reason: 2, description: "Network is unreachable", code: "unreachable", reply: 3 },
  { reason: 2, description: "Name or service not known", code: "name_not_found", reply: 4 },
  { reason: 2, description: "Temporary failure in name resolution", code: "name_not_found", reply: 4 },
  { reason: 2, description: "dial tcp: lookup db.example: no such host", code: "name_not_found", reply: 4 },
  {
    reason: 2,
    description: "nodename nor servname provided, or not known",
    code: "name_not_found",
    reply: 4,
  },
  { reason: 2, description: "", code: "unreachable", reply: 4 },
  { reason: 3, description: "unknown channel type", code: "not_allowed", reply: 2 },
  { reason: 4, description: "", code: "unreachable", reply: 4 },
  { reason: 99, description: "\x1b[2Jodd", code: "unreachable", reply: 4 },
];
for (const { reason, description, code, reply } of cases) {
  Deno.test(`openFailure() maps ${reason} ${JSON.stringify(description)} to ${code}`, () => {
    const error = openFailure({ reason, description }, about);
    assert.equal(error.code, code);
    assert.equal(socks5Reply(error), reply);
    assert.match(error.message, /^Cannot reach db\.example:5432 through ssh jump1: [\x20-\x7e]+$/);
    assert.equal(isShortage(error), reason === 4);
  });
}
