import assert from "node:assert/strict";
import {
  PortForwardV4,
  v4Data,
  webSocketClosePayload,
  webSocketOpcodes,
  WebSocketReader,
  webSocketServerFrame,
} from "../../../../src/wire/mod.ts";

const hex = (text: string) => Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (pair) => parseInt(pair, 16));
const bytes = (text: string) => new TextEncoder().encode(text);

/** The data of each channel, and the end. */
function read(chunks: readonly Uint8Array<ArrayBuffer>[]): { data: string; error: string; end: number } {
  const reader = new WebSocketReader("client");
  const forward = new PortForwardV4();
  const said = { data: "", error: "", end: 0 };
  for (const chunk of chunks) {
    for (const part of reader.receive(chunk)) {
      for (const effect of forward.receive(part)) {
        if (effect.kind === "ended") said.end = effect.code;
        else if (effect.kind === "data" || effect.kind === "error") {
          said[effect.kind] += new TextDecoder().decode(effect.bytes);
        }
      }
    }
  }
  return said;
}

const message = (text: string) =>
  webSocketServerFrame(webSocketOpcodes.binary, Uint8Array.of(...bytes(text)));
const whole = new Uint8Array([
  ...webSocketServerFrame(webSocketOpcodes.binary, hex("00 5000")),
  ...webSocketServerFrame(webSocketOpcodes.binary, hex("01 5000")),
  ...message("\0hello "),
  ...message("\x01connection refused"),
  ...message("\0world"),
  ...webSocketServerFrame(webSocketOpcodes.close, webSocketClosePayload(1000)),
]);

Deno.test("PortForwardV4 decodes data and errors without the port, for any chunks", () => {
  const said = { data: "hello world", error: "connection refused", end: 1000 };
  for (let cut = 0; cut <= whole.length; cut++) {
    assert.deepEqual(read([whole.slice(0, cut), whole.slice(cut)]), said);
  }
  assert.deepEqual(read(Array.from(whole, (byte) => Uint8Array.of(byte))), said);
});

Deno.test("PortForwardV4 rejects text messages and unknown channels", () => {
  for (
    const frame of [
      webSocketServerFrame(webSocketOpcodes.text, bytes("\0a")),
      webSocketServerFrame(webSocketOpcodes.binary, hex("0261")),
    ]
  ) {
    assert.throws(() => read([frame]), { code: "protocol" });
  }
});

Deno.test("v4Data() encodes a masked message of the data channel", () => {
  const [effect] = new WebSocketReader("server").receive(v4Data(bytes("hi")));
  assert(effect?.kind === "data" && effect.isStart && effect.isEnd && !effect.isText);
  assert.deepEqual(effect.bytes, bytes("\0hi"));
});
