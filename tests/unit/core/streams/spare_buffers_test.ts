import assert from "node:assert/strict";
import {
  bufferSizes,
  type Conn,
  giveBuffer,
  relay,
  StreamedConn,
  takeAtMost,
  takeBuffer,
} from "../../../../src/core/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";

const { small, medium, large } = bufferSizes;
const mostLarge = 32;

Deno.test("takeBuffer() reuses returned buffers of the same size only", () => {
  const buffer = takeBuffer(medium);
  giveBuffer(buffer);
  giveBuffer(new Uint8Array(medium - 1));
  assert.notEqual(takeBuffer(large), buffer);
  assert.equal(takeBuffer(medium), buffer);
  assert.notEqual(takeBuffer(medium), buffer);
  assert.equal(takeBuffer(1).length, 1);
});

Deno.test("takeAtMost() returns a medium buffer while too many large ones exist, and a large one afterwards", () => {
  const taken: Uint8Array<ArrayBuffer>[] = [];
  while (true) {
    const buffer = takeAtMost(large);
    if (buffer.length !== large) {
      assert.equal(buffer.length, medium);
      break;
    }
    taken.push(buffer);
    assert.ok(taken.length <= mostLarge, "the number of large buffers is bounded");
  }
  assert.ok(taken.length >= mostLarge - 1, "all but those that earlier tests hold");
  assert.equal(takeAtMost(small).length, small);
  const demanded = takeBuffer(large);
  assert.equal(demanded.length, large, "takeBuffer() still returns a large buffer");
  giveBuffer(demanded);
  assert.equal(takeAtMost(large), demanded);
  for (const buffer of taken) giveBuffer(buffer);
  assert.equal(takeAtMost(large).length, large);
});

/** A connection that fills every read, keeps its buffers, and finally fails. */
class Flood extends StreamedConn implements Conn {
  readonly isSocket = true;
  readonly peer = "flood";
  last: Uint8Array<ArrayBuffer> | undefined;
  #reads = 0;
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.#reads++ >= this.#most) return Promise.reject(new Error("the flood has ended"));
    this.last = into;
    return Promise.resolve(into.length);
  }

  write = () => Promise.resolve();
  closeWrite = () => Promise.resolve();
  abort = () => {};
  [Symbol.asyncDispose] = () => Promise.resolve();
}

const ways = [
  { name: "whose read has failed", fails: "read", forgets: false, isGiven: true },
  { name: "whose write has failed", fails: "write", forgets: false, isGiven: false },
  { name: "whose write has failed and is forgotten", fails: "write", forgets: true, isGiven: true },
] as const;
for (const { name, fails, forgets, isGiven } of ways) {
  Deno.test(`relay() ${isGiven ? "gives" : "does not give"} back the buffer of a direction ${name}`, async () => {
    const flood = new Flood(3);
    const [near, far] = memoryPair({ isSocket: true, capacity: 4 * large });
    let writes = 0;
    const write = near.write.bind(near);
    near.write = (bytes) =>
      fails === "write" && ++writes === 3 ? Promise.reject(new Error("it is gone")) : write(bytes);
    Object.assign(near, { forgetsFailedWrites: forgets });
    await far.closeWrite();
    const { outcome } = await relay(near, flood, {
      clock: new FakeClock(),
      tally: { up: 0, down: 0 },
      halfCloseLinger: 1000,
    });
    assert.equal(outcome, fails === "read" ? "target_gone" : "client_gone");
    far.abort();
    const { last } = flood;
    assert.ok(last && last.length > small);
    assert.equal(takeBuffer(last.length) === last, isGiven);
  });
}
