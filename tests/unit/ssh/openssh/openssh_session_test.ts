import assert from "node:assert/strict";
import { OpensshSession } from "../../../../src/ssh/openssh/openssh_session.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";

Deno.test("OpensshSession ends even when its master is stopped and reads nothing", async () => {
  const clock = new FakeClock();
  const [conn, socket] = memoryPair({ capacity: 1 });
  const master = {
    conn,
    ended: new Promise<never>(() => {}),
    [Symbol.asyncDispose]: () => conn[Symbol.asyncDispose](),
  };
  const times = { keepalive: 30_000, deadAfter: 60_000, connectTimeout: 10_000 };
  const session = new OpensshSession(master, { alias: "far", deps: { clock, times } });
  let isOver = false;
  const ending = session[Symbol.asyncDispose]().then(() => isOver = true);
  await settle();
  assert.equal(isOver, false);
  await clock.advance(1000);
  await ending;
  await session.ended;
  assert.match(String(session.reason), /postern closed the session/);
  await socket[Symbol.asyncDispose]();
});
