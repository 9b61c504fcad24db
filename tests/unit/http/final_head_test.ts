import assert from "node:assert/strict";
import { Messages } from "../../../src/core/mod.ts";
import { readFinalHead } from "../../../src/http/mod.ts";
import { bytesOf as bytes } from "../../support/fake_dial.ts";
import { memoryPair } from "../../support/memory_conn.ts";

const hint = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
const final = "HTTP/1.1 204 No Content\r\n\r\n";
const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";

for (
  const [name, text, status, interim] of [
    ["alone", final, 204, 0],
    ["after one interim response", hint + final, 204, 1],
    ["after the maximum number of interim responses", hint.repeat(16) + final, 204, 16],
    ["that switches protocols", hint + switching, 101, 1],
  ] as const
) {
  Deno.test(`readFinalHead() reads a final head ${name}, byte by byte, and leaves the rest`, async () => {
    const [near, far] = memoryPair();
    const messages = new Messages(near);
    const seen: number[] = [];
    const onInterim = ({ status }: { readonly status: number }) => Promise.resolve(void seen.push(status));
    const reading = readFinalHead(messages, { from: "it", onInterim });
    for (const byte of bytes(text)) await far.write(Uint8Array.of(byte));
    assert.equal((await reading).status, status);
    assert.deepEqual(seen, Array.from({ length: interim }, () => 103));
    await far.write(bytes("rest"));
    await messages.fill();
    assert.deepEqual(messages.pending, bytes("rest"));
  });
}

for (
  const [name, text] of [
    ["17 interim responses", hint.repeat(17)],
    [
      "interim responses of more than 64 KiB",
      `HTTP/1.1 103 A\r\nLink: ${"x".repeat(33_000)}\r\n\r\n`.repeat(2),
    ],
  ] as const
) {
  Deno.test(`readFinalHead() rejects ${name}`, async () => {
    const [near, far] = memoryPair({ capacity: 100_000 });
    await far.write(bytes(text + final));
    await assert.rejects(readFinalHead(new Messages(near), { from: "it" }), {
      status: 502,
      message: "Cannot read the response: too many 1xx responses",
    });
  });
}

Deno.test("readFinalHead() names the peer that closed the connection without a response", async () => {
  for (const [closed, code] of [[undefined, "unreachable"], ["protocol", "protocol"]] as const) {
    const [near, far] = memoryPair();
    await far.write(bytes(hint));
    await far.closeWrite();
    await assert.rejects(readFinalHead(new Messages(near), { from: "the proxy", closed }), {
      code,
      detail: "reset",
      message: "Cannot read the response from the proxy: it closed the connection",
    });
  }
});
