import assert from "node:assert/strict";
import { EventReader } from "../../../src/control/event_reader.ts";

const bytes = new TextEncoder().encode('data: {"a":"ž"}\n\n: a remark\n\ndata: 2\n\ndata: 3');

Deno.test("EventReader.take() returns the same events for all chunk boundaries", () => {
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new EventReader();
    const events = [...reader.take(bytes.subarray(0, cut)), ...reader.take(bytes.subarray(cut))];
    assert.deepEqual(events, ['{"a":"ž"}', "2"], `cut at ${cut}`);
  }
});
