import assert from "node:assert/strict";
import { accepting, type Listening } from "../../../src/world/mod.ts";
import type { Conn } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { type MemoryConn, memoryPair } from "../../support/memory_conn.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { recordingLog } from "../../support/recording_log.ts";

const place = { host: "127.0.0.1", port: 1 };

/** Accepts clients until there are no more. */
function taking(
  listening: Listening,
  { signal = new AbortController().signal, turnAway, makeRoom }: {
    signal?: AbortSignal;
    turnAway?: (client: Conn) => Promise<void>;
    makeRoom?: () => boolean;
  } = {},
) {
  const clock = new FakeClock();
  const log = recordingLog();
  const taken: Conn[] = [];
  const done = (async () => {
    const clients = accepting(listening, {
      signal,
      clock,
      log,
      ...(turnAway && { turnAway }),
      ...(makeRoom && { makeRoom }),
    });
    for await (const client of clients) taken.push(client);
  })();
  return { clock, log, taken, done };
}

/** A socket with prepared results of accept. */
class Scripted implements Listening {
  readonly endpoint = place;
  readonly steps: (Conn | Error)[] = [];
  /** Whether the spare descriptor is available; undefined if the socket never has one. */
  spare: boolean | undefined;
  canKeep = true;
  readonly #closed = Promise.withResolvers<undefined>();
  isClosed = false;

  accept(): Promise<Conn | undefined> {
    const step = this.steps.shift();
    if (step === undefined) return this.#closed.promise;
    return step instanceof Error ? Promise.reject(step) : Promise.resolve(step);
  }

  spendSpare(): boolean {
    const had = this.spare === true;
    if (had) this.spare = false;
    return had;
  }

  keepSpare(): boolean {
    if (this.spare === false && this.canKeep) this.spare = true;
    return this.spare === true;
  }

  close(): void {
    this.isClosed = true;
    this.#closed.resolve(undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.close());
  }
}

const full = () =>
  new PosternError("internal", "Cannot open it: too many open files", { detail: "overloaded" });

Deno.test("accepting() yields clients until the socket is closed", async () => {
  const network = new MemoryNetwork();
  const listening = network.listen(place);
  const { taken, done } = taking(listening);
  const { signal } = new AbortController();
  await network.connect(place, { signal });
  await network.connect(place, { signal });
  await settle();
  assert.equal(taken.length, 2);
  listening.close();
  await done;
});

Deno.test("accepting() closes the socket when the signal aborts, even before the start", async () => {
  const controller = new AbortController();
  const listening = new Scripted();
  const { done } = taking(listening, controller);
  await settle();
  assert.equal(listening.isClosed, false);
  controller.abort();
  await done;
  assert.equal(listening.isClosed, true);
  const another = new Scripted();
  await taking(another, controller).done;
  assert.equal(another.isClosed, true);
});

Deno.test("accepting() survives a lack of descriptors and logs it once a second", async () => {
  const listening = new Scripted();
  const [client] = memoryPair();
  listening.steps.push(...Array.from({ length: 30 }, full), client);
  const { taken, clock, log, done } = taking(listening);
  await clock.advance(900);
  assert.deepEqual(log.lines.map(({ event, level }) => [event, level]), [[
    "instance.accept_failed",
    "error",
  ]]);
  assert.equal(taken.length, 0);
  await clock.advance(700);
  assert.equal(log.lines.length, 2);
  assert.deepEqual(taken, [client]);
  assert.equal(clock.waiting, 0);
  listening.close();
  await done;
});

Deno.test("accepting() ends its pause when the signal aborts", async () => {
  const controller = new AbortController();
  const listening = new Scripted();
  listening.steps.push(full());
  const { done, clock } = taking(listening, controller);
  await settle();
  assert.equal(clock.waiting, 1);
  controller.abort();
  await done;
  assert.equal(clock.waiting, 0);
});

Deno.test("accepting() uses the spare descriptor for an answer, and reserves it again", async () => {
  const listening = new Scripted();
  listening.spare = true;
  listening.canKeep = false;
  const [refused] = memoryPair();
  const [later] = memoryPair();
  listening.steps.push(full(), refused);
  const gate = Promise.withResolvers<void>();
  const turned: Conn[] = [];
  const { taken, done } = taking(listening, {
    turnAway: async (client) => {
      turned.push(client);
      await gate.promise;
      (client as MemoryConn).abort();
    },
  });
  await settle();
  assert.deepEqual([turned, taken, listening.spare], [[refused], [], false]);
  listening.canKeep = true;
  gate.resolve();
  await settle();
  assert.equal(listening.spare, true);
  listening.steps.push(later);
  listening.close();
  await done;
});

Deno.test("accepting() serves the client if there is room again", async () => {
  const listening = new Scripted();
  listening.spare = true;
  const [client] = memoryPair();
  listening.steps.push(full(), client);
  const { taken, done } = taking(listening, { turnAway: () => Promise.reject(new Error("not needed")) });
  await settle();
  assert.deepEqual(taken, [client]);
  listening.close();
  await done;
});

Deno.test("accepting() turns away four clients at once, then drops one for the next", async () => {
  const listening = new Scripted();
  // One spare descriptor for each step: a socket reserves several.
  listening.spendSpare = () => true;
  listening.keepSpare = () => false;
  const refused = Array.from({ length: 4 }, () => memoryPair()[0]);
  const [next] = memoryPair();
  listening.steps.push(...refused.flatMap((client) => [full(), client]), full(), next);
  const gate = Promise.withResolvers<void>();
  const turned: Conn[] = [];
  let gaveWay = 0;
  const { taken, clock, done } = taking(listening, {
    turnAway: (client) => {
      turned.push(client);
      return gate.promise;
    },
    makeRoom: () => ++gaveWay > 0,
  });
  for (let turn = 0; turn < 10; turn++) await settle();
  assert.deepEqual([turned, taken, gaveWay, clock.waiting], [refused, [next], 1, 0]);
  gate.resolve();
  listening.close();
  await done;
});

Deno.test("accepting() waits if no client can be dropped", async () => {
  const listening = new Scripted();
  const [client] = memoryPair();
  listening.steps.push(full(), client);
  const { taken, clock, done } = taking(listening, { makeRoom: () => false });
  await settle();
  assert.deepEqual([taken, clock.waiting], [[], 1]);
  await clock.advance(50);
  assert.deepEqual(taken, [client]);
  listening.close();
  await done;
});
