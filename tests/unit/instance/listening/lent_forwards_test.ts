import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { lentForwards } from "../../../../src/instance/listening/lent_forwards.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";

function lent() {
  const closed = new AbortController();
  const ends: string[] = [];
  const clock = new FakeClock();
  const endpoint = { host: "127.0.0.1", port: 5432 };
  const forward = { target: { host: "db.example", port: 5432 }, name: "db" };
  const listener = {
    kind: "forward",
    endpoint,
    address: "127.0.0.1:5432",
    hasAuth: false,
    users: [],
    forward,
  } as const;
  const open = () =>
    Promise.resolve({
      id: 7,
      bound: [listener],
      closed: closed.signal,
      end: () => Promise.resolve(void ends.push("end")),
    });
  return { updates: lentForwards(open, clock), closed, ends, clock };
}

Deno.test("lentForwards() tells the addresses, a heartbeat each second, and the end of the instance", async () => {
  const { updates, closed, ends, clock } = lent();
  assert.deepEqual((await updates.next()).value, {
    kind: "bound",
    id: 7,
    forwards: [{ address: "127.0.0.1:5432", target: "db.example:5432", name: "db" }],
  });
  const next = updates.next();
  await settle();
  clock.advance(1000);
  assert.deepEqual((await next).value, { kind: "alive" });
  const last = updates.next();
  await settle();
  closed.abort();
  assert.deepEqual((await last).value, { kind: "stopped" });
  assert.deepEqual(ends, []);
  assert.equal((await updates.next()).done, true);
  assert.deepEqual(ends, ["end"]);
  assert.equal(clock.waiting, 0);
});

Deno.test("lentForwards() ends the forwards when its reader stops", async () => {
  const { updates, ends } = lent();
  await updates.next();
  await updates.return(undefined);
  assert.deepEqual(ends, ["end"]);
});

Deno.test("lentForwards() opens nothing for a reader that never starts", async () => {
  const { updates, ends } = lent();
  await updates.return(undefined);
  assert.deepEqual(ends, []);
});

Deno.test("lentForwards() tells why it cannot listen", async () => {
  const error = new PosternError("config", "Cannot listen on 127.0.0.1:1: in use", {
    hint: "use another port",
  });
  const updates = lentForwards(() => Promise.reject(error), new FakeClock());
  assert.deepEqual((await updates.next()).value, {
    kind: "failed",
    error: { code: "config", message: error.message, hint: "use another port" },
  });
  assert.equal((await updates.next()).done, true);
});
