import assert from "node:assert/strict";
import { ForwardLanes } from "../../../../src/kube/forward/forward_lanes.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

interface Frame {
  readonly stream?: number;
  readonly ping?: number;
  readonly opens?: boolean;
}

/**
 * Handles frames like moby/spdystream: five workers with a queue of fifty frames each. The stream id selects the
 * worker; pings go round-robin. A full queue stops reading from the connection.
 */
class Workers {
  readonly lanes: ForwardLanes;
  readonly clock = new FakeClock();
  /** Streams whose pods do not read. */
  readonly deaf = new Set<number>();
  readonly #wire: Frame[] = [];
  readonly #queues: Frame[][] = [[], [], [], [], []];
  #turn = 0;
  #pings = 1;

  constructor() {
    this.lanes = new ForwardLanes({
      clock: this.clock,
      ping: () => {
        const ping = this.#pings;
        this.#pings += 2;
        this.#wire.push({ ping });
        return ping;
      },
    });
  }

  get pings(): number {
    return (this.#pings - 1) / 2;
  }

  /** Whether the server has stopped reading. */
  get isBlocked(): boolean {
    return this.#wire.length > 0;
  }

  open(stream: number): void {
    this.#wire.push({ stream, opens: true });
    this.lanes.onOpened(stream);
  }

  /** Sends as much as allowed on a stream; returns the number of frames. */
  say(stream: number, frames: number, bytes = 64 * 1024): number {
    for (let said = 0; said < frames; said++) {
      if (this.lanes.room(stream)) return said;
      this.#wire.push({ stream });
      this.lanes.onSaid(stream, bytes);
    }
    return frames;
  }

  /** Lets the workers process their queues. */
  work(): void {
    for (let before = -1; before !== this.#left;) {
      before = this.#left;
      this.#read();
      for (const queue of this.#queues) this.#serve(queue);
    }
  }

  get #left(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.length, this.#wire.length);
  }

  #read(): void {
    for (let frame = this.#wire[0]; frame; frame = this.#wire[0]) {
      const index = frame.stream === undefined ? this.#turn : frame.stream % 5;
      const queue = this.#queues[index] ?? assert.fail();
      if (queue.length >= 50) return;
      if (frame.stream === undefined) this.#turn = (this.#turn + 1) % 5;
      queue.push(frame);
      this.#wire.shift();
    }
  }

  #serve(queue: Frame[]): void {
    for (let frame = queue[0]; frame; frame = queue[0]) {
      if (frame.stream !== undefined && !frame.opens && this.deaf.has(frame.stream)) return;
      queue.shift();
      if (frame.ping !== undefined) this.lanes.onPong(frame.ping);
      else if (frame.opens && frame.stream !== undefined) this.lanes.onAccepted(frame.stream);
    }
  }
}

Deno.test("ForwardLanes never blocks streams whose pods read", () => {
  const all = new Workers();
  const streams = [3, 7, 11, 15, 19, 23];
  for (const stream of streams) all.open(stream);
  let said = 0;
  for (let round = 0; round < 1000; round++) {
    for (const stream of streams) said += all.say(stream, 3);
    all.work();
  }
  assert.equal(said, 1000 * streams.length * 3);
});

Deno.test("ForwardLanes blocks a stream whose pod does not read before the whole connection stops", () => {
  const all = new Workers();
  for (const stream of [3, 7, 11]) all.open(stream);
  all.deaf.add(3);
  let deaf = 0;
  let others = 0;
  for (let round = 0; round < 1000; round++) {
    deaf += all.say(3, 10);
    others += all.say(7, 2) + all.say(11, 2);
    all.work();
    assert.equal(all.isBlocked, false, `in round ${round}`);
  }
  assert.ok(deaf >= 16 && deaf <= 40, `${deaf} frames were sent without a reader`);
  assert.equal(others, 4000);
});

Deno.test("ForwardLanes resumes a stream when its pod reads again", async () => {
  const all = new Workers();
  all.open(3);
  all.deaf.add(3);
  const first = all.say(3, 100);
  all.work();
  assert.ok(first < 100);
  const room = all.lanes.room(3) ?? assert.fail("there is room");
  all.deaf.clear();
  all.work();
  await room;
  assert.ok(all.say(3, 100) > 0);
});

Deno.test("ForwardLanes reports a pod that does not read, and the stream ids to skip", async () => {
  const all = new Workers();
  all.open(3);
  all.deaf.add(3);
  all.say(3, 100);
  all.work();
  assert.equal(all.lanes.isStuck, false);
  await all.clock.advance(600);
  assert.equal(all.lanes.isStuck, true);
  // A pair has an id and the second next one; the blocked lane has the ids 3, 13 and 23.
  for (const [next, left] of [[5, 0], [11, 2], [13, 1], [21, 2]] as const) {
    assert.equal(all.lanes.free(next), left, `from ${next}`);
  }
  all.deaf.clear();
  all.work();
  assert.equal(all.lanes.isStuck, false);
  assert.equal(all.lanes.free(11), 0);
});

Deno.test("ForwardLanes gets a ping response although workers wait for pods", async () => {
  const all = new Workers();
  all.open(3);
  all.deaf.add(3);
  all.say(3, 100);
  all.work();
  await all.clock.advance(600);
  for (let round = 0; round < 10; round++) {
    const before = all.pings;
    all.lanes.ping();
    assert.equal(all.pings - before, 2);
    all.work();
  }
  assert.equal(all.isBlocked, false);
});

Deno.test("ForwardLanes drops the window when no further confirmation is possible", async () => {
  const all = new Workers();
  for (const stream of [3, 7]) all.open(stream);
  all.work();
  all.deaf.add(3);
  all.say(3, 100);
  await all.clock.advance(600);
  for (let round = 0; round < 200; round++) {
    all.say(7, 10);
    all.work();
  }
  assert.equal(all.isBlocked, false);
  assert.equal(all.say(7, 10), 10);
});

Deno.test("ForwardLanes restores the window when confirmations are possible again", () => {
  const all = new Workers();
  const large = 256 * 1024;
  for (const stream of [3, 7]) all.open(stream);
  all.work();
  all.deaf.add(3);
  all.say(3, 100);
  for (let before = -1; before !== all.pings;) {
    before = all.pings;
    all.say(7, 2, large);
    all.work();
  }
  // No further ping may be sent, so there is no window.
  assert.equal(all.say(7, 8, large), 8);
  all.work();
  all.deaf.clear();
  all.work();
  let said = 0;
  for (let round = 0; round < 10; round++) {
    said += all.say(7, 2, large);
    all.work();
  }
  assert.ok(said >= 10, `${said} frames were sent`);
});

Deno.test("ForwardLanes pings rarely for short streams", () => {
  const all = new Workers();
  for (let index = 0; index < 500; index++) {
    const stream = index * 4 + 3;
    all.open(stream - 2);
    all.open(stream);
    all.say(stream, 1, 100);
    all.work();
  }
  assert.ok(all.pings < 100, `${all.pings} pings`);
});

Deno.test("ForwardLanes releases waiting streams when it is closed", async () => {
  const all = new Workers();
  all.deaf.add(3);
  all.open(3);
  all.say(3, 100);
  const room = all.lanes.room(3) ?? assert.fail("there is room");
  all.lanes.close();
  await room;
});
