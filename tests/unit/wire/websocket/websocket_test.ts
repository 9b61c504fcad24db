import assert from "node:assert/strict";
import {
  webSocketClientFrame,
  webSocketClosePayload,
  webSocketOpcodes,
  WebSocketReader,
  webSocketServerFrame,
} from "../../../../src/wire/mod.ts";
import { applyMask } from "../../../../src/wire/websocket/websocket_mask.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

const hex = (text: string) => Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (pair) => parseInt(pair, 16));
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

/** The events, with joined parts and copied bytes. */
function read(role: "client" | "server", chunks: readonly Uint8Array<ArrayBuffer>[]): string[] {
  const reader = new WebSocketReader(role);
  const said: string[] = [];
  let message = "";
  for (const chunk of chunks) {
    for (const effect of reader.receive(chunk)) {
      if (effect.kind === "close") said.push(`close ${effect.code} ${effect.reason}`);
      else if (effect.kind !== "data") said.push(`${effect.kind} ${text(effect.bytes)}`);
      else {
        if (effect.isStart) message = effect.isText ? "text " : "binary ";
        message += text(effect.bytes);
        if (effect.isEnd) said.push(message);
      }
    }
  }
  return said;
}

/** Examples of RFC 6455, section 5.7, and more. */
const cases = [
  { name: "a text", role: "client", frames: "810548656c6c6f", said: ["text Hello"] },
  { name: "a masked text", role: "server", frames: "818537fa213d7f9f4d5158", said: ["text Hello"] },
  { name: "a text in two fragments", role: "client", frames: "010348656c 80026c6f", said: ["text Hello"] },
  { name: "a ping", role: "client", frames: "890548656c6c6f", said: ["ping Hello"] },
  { name: "a masked pong", role: "server", frames: "8a8537fa213d7f9f4d5158", said: ["pong Hello"] },
  {
    name: "a ping between two fragments",
    role: "client",
    frames: "010348656c 890148 80026c6f",
    said: ["ping H", "text Hello"],
  },
  { name: "empty messages", role: "client", frames: "8200 0200 0000 8000", said: ["binary ", "binary "] },
  { name: "a close", role: "client", frames: "880603e8656e6421", said: ["close 1000 end!"] },
  { name: "a close without a code", role: "client", frames: "8800", said: ["close 1005 "] },
  { name: "nothing after a close", role: "client", frames: "8800 810548656c6c6f", said: ["close 1005 "] },
] as const;
for (const { name, role, frames, said } of cases) {
  Deno.test(`WebSocketReader decodes ${name}, for any chunks`, () => {
    const whole = hex(frames);
    assert.deepEqual(read(role, [whole]), said);
    for (let cut = 0; cut <= whole.length; cut++) {
      assert.deepEqual(read(role, [whole.slice(0, cut), whole.slice(cut)]), said);
    }
    assert.deepEqual(read(role, Array.from(whole, (byte) => Uint8Array.of(byte))), said);
  });
}

const refused = [
  { name: "a masked frame of a server", role: "client", frames: "818537fa213d7f9f4d5158" },
  { name: "a frame of a client without a mask", role: "server", frames: "810548656c6c6f" },
  { name: "reserved bits", role: "client", frames: "c10548" },
  { name: "an unknown type", role: "client", frames: "8300" },
  { name: "a ping in fragments", role: "client", frames: "0900" },
  { name: "a ping of 126 bytes", role: "client", frames: "897e007e" },
  { name: "a fragment without a message", role: "client", frames: "8000" },
  { name: "a message inside another", role: "client", frames: "0100 8100" },
  { name: "a length of 125 in two bytes", role: "client", frames: "827e007d" },
  { name: "a length of 65535 in eight bytes", role: "client", frames: "827f000000000000ffff" },
  { name: "an impossible length", role: "client", frames: "827fffffffffffffffff" },
  { name: "half a code of a close", role: "client", frames: "880103" },
  { name: "the code 1005 in a close", role: "client", frames: "880203ed" },
  { name: "the code 999 in a close", role: "client", frames: "880203e7" },
] as const;
for (const { name, role, frames } of refused) {
  Deno.test(`WebSocketReader rejects ${name}`, () => {
    assert.throws(() => read(role, [hex(frames)]), { code: "protocol" });
  });
}

for (const length of [0, 1, 125, 126, 127, 65535, 65536, 200_001]) {
  Deno.test(`webSocketClientFrame() and webSocketServerFrame() carry ${length} bytes`, () => {
    const payload = patternBytes(length, 3);
    const masked = webSocketClientFrame(webSocketOpcodes.binary, length, (into) => into.set(payload));
    const plain = webSocketServerFrame(webSocketOpcodes.binary, payload);
    assert.equal(masked.length, plain.length + 4);
    for (const [role, frame] of [["server", masked], ["client", plain]] as const) {
      const [effect, ...more] = new WebSocketReader(role).receive(frame);
      assert(effect?.kind === "data" && effect.isStart && effect.isEnd && more.length === 0);
      assert.deepEqual(effect.bytes, payload);
    }
  });
}

Deno.test("WebSocketReader passes on the start of an incomplete message", () => {
  const frame = webSocketServerFrame(webSocketOpcodes.binary, bytes("a long message"));
  const [effect] = new WebSocketReader("client").receive(frame.subarray(0, 8));
  assert(effect?.kind === "data" && effect.isStart && !effect.isEnd);
  assert.equal(text(effect.bytes), "a long");
});

Deno.test("webSocketClosePayload() truncates a reason that is too long for a control frame", () => {
  assert.equal(webSocketClosePayload(1000, "x".repeat(500)).length, 125);
  assert.deepEqual(webSocketClosePayload(1001, "bye"), hex("03e9627965"));
});

Deno.test("webSocketClientFrame() uses another key each time", () => {
  const keys = new Set(
    Array.from(
      { length: 400 },
      () => webSocketClientFrame(webSocketOpcodes.ping, 0, () => {}).slice(2).join(),
    ),
  );
  assert.ok(keys.size > 390, `${keys.size} different keys`);
});

Deno.test("applyMask() gives the same result for any alignment", () => {
  const key = hex("37fa213d");
  for (let offset = 0; offset < 8; offset++) {
    for (let length = 0; length < 20; length++) {
      for (let from = 0; from < 4; from++) {
        const there = new Uint8Array(40).subarray(offset, offset + length);
        applyMask(there, key, from);
        assert.deepEqual([...there], Array.from(there, (_, at) => key[(at + from) % 4]));
      }
    }
  }
});
