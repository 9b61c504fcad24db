import assert from "node:assert/strict";
import { systemClock } from "../../../src/runtime/system_clock.ts";

/** Blocks the process. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

Deno.test("after() fires after pending I/O when the process was suspended", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using near = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  using far = await listener.accept();
  const happened: string[] = [];
  const rung = Promise.withResolvers<void>();
  const read = near.read(new Uint8Array(1)).then(() => happened.push("read"));
  systemClock.after(20, () => {
    happened.push("rung");
    rung.resolve();
  });
  await far.write(Uint8Array.of(1));
  stall(600);
  await Promise.all([read, rung.promise]);
  assert.deepEqual(happened, ["read", "rung"]);
});

Deno.test("after() never fires after its disposal, even when late", async () => {
  let isRung = false;
  const timer = systemClock.after(20, () => isRung = true);
  stall(600);
  // It would have fired before this one.
  const next = Promise.withResolvers<void>();
  systemClock.after(0, next.resolve);
  timer[Symbol.dispose]();
  await next.promise;
  await new Promise<void>((resolve) => systemClock.after(100, resolve));
  assert.equal(isRung, false);
});

Deno.test("after() does not fire immediately for more than the system's longest timer", async () => {
  let isRung = false;
  using _timer = systemClock.after(2 ** 31, () => isRung = true);
  await new Promise<void>((resolve) => systemClock.after(20, resolve));
  assert.equal(isRung, false);
});
