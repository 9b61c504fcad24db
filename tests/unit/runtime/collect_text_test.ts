import assert from "node:assert/strict";
import { collectText } from "../../../src/runtime/collect_text.ts";

const tooMuch = () => new Error("too much");

/** A stream of pieces, and whether it was canceled. */
function streamOf(pieces: readonly Uint8Array[], { isOpen = false } = {}) {
  const state: { cancelledBy?: unknown } = {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      if (!isOpen) controller.close();
    },
    cancel(reason) {
      state.cancelledBy = reason;
    },
  });
  return { stream, state };
}

Deno.test("collectText() joins pieces that split a character", async () => {
  const bytes = new TextEncoder().encode("grün €");
  const { stream } = streamOf(Array.from(bytes, (byte) => Uint8Array.of(byte)));
  assert.equal(await collectText(stream, { limit: bytes.length, tooMuch }), "grün €");
});

Deno.test("collectText() marks an incomplete character at the end", async () => {
  const { stream } = streamOf([Uint8Array.of(0x61, 0xe2, 0x82)]);
  assert.equal(await collectText(stream, { limit: 3, tooMuch }), "a\ufffd");
});

Deno.test("collectText() stops reading at its limit", async () => {
  const { stream, state } = streamOf([new Uint8Array(4), new Uint8Array(1)], { isOpen: true });
  await assert.rejects(collectText(stream, { limit: 4, tooMuch }), /too much/);
  assert.match(String(state.cancelledBy), /too much/);
});

Deno.test("collectText() ends with the signal even if the stream does not", async () => {
  const { stream, state } = streamOf([new Uint8Array(4)], { isOpen: true });
  const stop = new AbortController();
  const collected = collectText(stream, { limit: 4, tooMuch, signal: stop.signal });
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(collected, reason);
  assert.equal(state.cancelledBy, reason);
});
