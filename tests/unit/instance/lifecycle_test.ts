import assert from "node:assert/strict";
import { Lifecycle, type LifecycleState } from "../../../src/instance/lifecycle.ts";
import type { ReloadReport } from "../../../src/control/mod.ts";
import { settle } from "../../support/fake_clock.ts";

const report = (change: string): ReloadReport => ({ changed: true, changes: [change], warnings: [] });
const done = () => Promise.resolve();

/** Work that ends on request. */
class Work<T> {
  hasBegun = false;
  readonly #end = Promise.withResolvers<T>();

  readonly run = (): Promise<T> => {
    assert.equal(this.hasBegun, false, "it runs once");
    this.hasBegun = true;
    return this.#end.promise;
  };

  async ends(value: T): Promise<void> {
    this.#end.resolve(value);
    await settle();
  }

  async fails(error: Error): Promise<void> {
    this.#end.reject(error);
    await settle();
  }
}

async function openLifecycle(): Promise<Lifecycle> {
  const lifecycle = new Lifecycle();
  await lifecycle.open(done);
  return lifecycle;
}

const phases: readonly {
  state: LifecycleState;
  phase: string;
  reach: (of: Lifecycle) => Promise<unknown>;
}[] = [
  { state: "starting", phase: "starting", reach: done },
  { state: "ready", phase: "ready", reach: (of) => of.open(done) },
  {
    state: "reloading",
    phase: "ready",
    reach: async (of) => {
      await of.open(done);
      void of.reload(() => new Promise(() => {}));
      await settle();
    },
  },
  { state: "draining", phase: "draining", reach: (of) => Promise.resolve(of.drain()) },
  { state: "closed", phase: "draining", reach: (of) => Promise.resolve(of.close()) },
];
for (const { state, phase, reach } of phases) {
  Deno.test(`Lifecycle.phase is ${phase} while the state is ${state}`, async () => {
    const lifecycle = new Lifecycle();
    await reach(lifecycle);
    assert.equal(lifecycle.state, state);
    assert.equal(lifecycle.phase, phase);
    assert.equal(lifecycle.isLeaving, phase === "draining");
  });
}

Deno.test("Lifecycle.reload() requested while it opens starts afterwards", async () => {
  const lifecycle = new Lifecycle();
  const opening = new Work<void>();
  const work = new Work<ReloadReport>();
  const opened = lifecycle.open(opening.run);
  const reloaded = lifecycle.reload(work.run);
  await settle();
  assert.deepEqual([opening.hasBegun, work.hasBegun, lifecycle.state], [true, false, "starting"]);
  await opening.ends();
  await opened;
  assert.deepEqual([work.hasBegun, lifecycle.state], [true, "reloading"]);
  await work.ends(report("one"));
  assert.deepEqual((await reloaded).changes, ["one"]);
  assert.equal(lifecycle.state, "ready");
});

Deno.test("Lifecycle.reload() is refused after a failed opening", async () => {
  const lifecycle = new Lifecycle();
  const opening = new Work<void>();
  const opened = assert.rejects(lifecycle.open(opening.run), /taken/);
  const work = new Work<ReloadReport>();
  const refused = assert.rejects(lifecycle.reload(work.run), { code: "cancelled", detail: "starting" });
  await settle();
  await opening.fails(new Error("taken"));
  await Promise.all([opened, refused]);
  assert.deepEqual([work.hasBegun, lifecycle.state], [false, "starting"]);
});

Deno.test("Lifecycle.reload() calls of one source share a waiting reload, but not a running one", async () => {
  const lifecycle = await openLifecycle();
  const source = {};
  const works = [new Work<ReloadReport>(), new Work<ReloadReport>(), new Work<ReloadReport>()] as const;
  const first = lifecycle.reload(works[0].run, source);
  await settle();
  const second = lifecycle.reload(works[1].run, source);
  const third = lifecycle.reload(works[2].run, source);
  assert.equal(second, third);
  assert.notEqual(first, second);
  await settle();
  assert.deepEqual(works.map(({ hasBegun }) => hasBegun), [true, false, false]);
  await works[0].ends(report("first"));
  assert.deepEqual(works.map(({ hasBegun }) => hasBegun), [true, true, false]);
  await works[1].ends(report("second"));
  assert.deepEqual((await first).changes, ["first"]);
  assert.deepEqual((await third).changes, ["second"]);
  assert.equal(works[2].hasBegun, false);
});

Deno.test("Lifecycle.reload() calls of two sources run one at a time", async () => {
  const lifecycle = await openLifecycle();
  const [one, other] = [new Work<ReloadReport>(), new Work<ReloadReport>()];
  const reloads = [lifecycle.reload(one.run), lifecycle.reload(other.run)];
  await settle();
  assert.deepEqual([one.hasBegun, other.hasBegun], [true, false]);
  await one.ends(report("one"));
  assert.deepEqual([other.hasBegun, lifecycle.state], [true, "reloading"]);
  await other.ends(report("other"));
  assert.deepEqual((await Promise.all(reloads)).map(({ changes }) => changes), [["one"], ["other"]]);
});

Deno.test("Lifecycle.reload() that fails returns to ready, and the next one runs", async () => {
  const lifecycle = await openLifecycle();
  const source = {};
  const failing = new Work<ReloadReport>();
  const failed = assert.rejects(lifecycle.reload(failing.run, source), /cannot bind/);
  await settle();
  const next = lifecycle.reload(() => Promise.resolve(report("next")), source);
  await failing.fails(new Error("cannot bind"));
  await failed;
  assert.deepEqual((await next).changes, ["next"]);
  assert.equal(lifecycle.state, "ready");
});

const leavings = [
  { name: "drain", leave: (of: Lifecycle) => of.drain(), state: "draining" },
  { name: "close", leave: (of: Lifecycle) => of.close(), state: "closed" },
] as const;
for (const { name, leave, state } of leavings) {
  Deno.test(`Lifecycle.${name}() is final: no reload starts, and a running one does not return to ready`, async () => {
    const lifecycle = await openLifecycle();
    const source = {};
    const [running, waiting] = [new Work<ReloadReport>(), new Work<ReloadReport>()];
    const first = lifecycle.reload(running.run, source);
    await settle();
    const refused = assert.rejects(lifecycle.reload(waiting.run, source), {
      code: "refused",
      exit: 3,
      detail: "closing",
    });
    leave(lifecycle);
    assert.throws(() => lifecycle.demandStays(), { detail: "closing" });
    await running.ends(report("late"));
    await first;
    await refused;
    assert.deepEqual([waiting.hasBegun, lifecycle.state], [false, state]);
    await assert.rejects(lifecycle.reload(waiting.run, source), { detail: "closing" });
  });

  Deno.test(`Lifecycle.${name}() while it opens prevents ready`, async () => {
    const lifecycle = new Lifecycle();
    const opening = new Work<void>();
    const refused = assert.rejects(lifecycle.open(opening.run), { detail: "closing" });
    await settle();
    leave(lifecycle);
    await opening.ends();
    await refused;
    assert.equal(lifecycle.state, state);
  });

  Deno.test(`Lifecycle.${name}() before it opens prevents opening`, async () => {
    const lifecycle = new Lifecycle();
    leave(lifecycle);
    const opening = new Work<void>();
    await assert.rejects(lifecycle.open(opening.run), { detail: "closing" });
    assert.equal(opening.hasBegun, false);
  });
}

Deno.test("Lifecycle.drain() after close() leaves it closed", () => {
  const lifecycle = new Lifecycle();
  lifecycle.close();
  lifecycle.drain();
  assert.equal(lifecycle.state, "closed");
});

Deno.test("Lifecycle.inTurn() runs between reloads, also after a failed one", async () => {
  const lifecycle = await openLifecycle();
  const order: string[] = [];
  const failed = assert.rejects(
    lifecycle.reload(() => {
      order.push("first");
      return Promise.reject(new Error("broken"));
    }),
    /broken/,
  );
  const between = lifecycle.inTurn(() => Promise.resolve(order.push(lifecycle.state)));
  const last = lifecycle.reload(() => {
    order.push("last");
    return Promise.resolve(report("last"));
  });
  await Promise.all([failed, between, last]);
  assert.deepEqual(order, ["first", "ready", "last"]);
});
