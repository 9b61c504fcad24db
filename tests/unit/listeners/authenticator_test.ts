import assert from "node:assert/strict";
import { Authenticator } from "../../../src/listeners/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const users = [{ name: "me", password: "secret" }, { name: "you", password: "" }];
const { signal } = new AbortController();

const cases = [
  { name: "me", password: "secret", isRight: true },
  { name: "you", password: "", isRight: true },
  { name: "me", password: "Secret", isRight: false },
  { name: "me", password: "", isRight: false },
  { name: "you", password: "secret", isRight: false },
  { name: "stranger", password: "secret", isRight: false },
  { name: "", password: "", isRight: false },
];

for (const { name, password, isRight } of cases) {
  Deno.test(`Authenticator ${isRight ? "accepts" : "refuses"} "${name}" with "${password}"`, async () => {
    const authenticator = new Authenticator(users, new FakeClock());
    assert.equal(await authenticator.check(name, password, { peer: "127.0.0.1:1", signal }), isRight);
  });
}

/** The delay of a check, in steps of 50 ms. */
async function waitOf(
  authenticator: Authenticator,
  clock: FakeClock,
  peer: string,
  password: string,
): Promise<number> {
  let isDone = false;
  const check = authenticator.check("me", password, { peer, signal }).then(() => isDone = true);
  // The first check loads the hash function.
  await import("node:crypto");
  await clock.advance(0);
  let waited = 0;
  for (; !isDone && waited < 60_000; waited += 50) await clock.advance(50);
  await check;
  return waited;
}

Deno.test("Authenticator doubles the delay for repeated failures of an address, up to 5 s", async () => {
  const clock = new FakeClock();
  const authenticator = new Authenticator(users, clock);
  const waits: number[] = [];
  for (let attempt = 0; attempt < 9; attempt++) {
    waits.push(await waitOf(authenticator, clock, `192.0.2.1:${attempt}`, "wrong"));
  }
  assert.deepEqual(waits, [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  assert.equal(
    await waitOf(authenticator, clock, "192.0.2.2:1", "wrong"),
    0,
    "another address does not wait",
  );
  assert.equal(
    await waitOf(authenticator, clock, "192.0.2.1:99", "secret"),
    5000,
    "the right password is delayed too",
  );
  assert.equal(await waitOf(authenticator, clock, "192.0.2.1:99", "secret"), 0, "and resets the delay");
  assert.equal(clock.waiting, 0);
});

Deno.test("Authenticator checks only one of many simultaneous guesses without a delay", async () => {
  const clock = new FakeClock();
  const authenticator = new Authenticator(users, clock);
  let answered = 0;
  const checks = [..."abcdefgh"].map(async (guess) => {
    await authenticator.check("me", guess, { peer: "192.0.2.1:1", signal });
    answered++;
  });
  await import("node:crypto");
  await clock.advance(0);
  assert.equal(answered, 1);
  await clock.advance(100);
  await Promise.all(checks);
  assert.equal(await waitOf(authenticator, clock, "192.0.2.1:1", "wrong"), 5000);
});

Deno.test("Authenticator treats an IPv6 network as one client", async () => {
  const clock = new FakeClock();
  const authenticator = new Authenticator(users, clock);
  assert.equal(await waitOf(authenticator, clock, "[2001:db8::1]:1", "wrong"), 0);
  assert.equal(await waitOf(authenticator, clock, "[2001:db8::2:1]:2", "wrong"), 100);
  assert.equal(await waitOf(authenticator, clock, "[2001:db8:0:1::1]:3", "wrong"), 0);
});

Deno.test("Authenticator distinguishes IPv4 clients of a wildcard listener", async () => {
  const clock = new FakeClock();
  const authenticator = new Authenticator(users, clock);
  assert.equal(await waitOf(authenticator, clock, "[::ffff:192.0.2.1]:1", "wrong"), 0);
  assert.equal(await waitOf(authenticator, clock, "[::ffff:192.0.2.1]:2", "wrong"), 100);
  assert.equal(await waitOf(authenticator, clock, "[::ffff:192.0.2.2]:3", "wrong"), 0);
});

Deno.test("Authenticator forgets an address after ten minutes, and the oldest one when full", async () => {
  const clock = new FakeClock();
  const authenticator = new Authenticator(users, clock);
  await waitOf(authenticator, clock, "192.0.2.1:1", "wrong");
  await waitOf(authenticator, clock, "192.0.2.1:1", "wrong");
  await clock.advance(601_000);
  assert.equal(await waitOf(authenticator, clock, "192.0.2.1:1", "wrong"), 0);
  assert.equal(await waitOf(authenticator, clock, "192.0.2.1:1", "wrong"), 100);
  for (let host = 0; host < 1024; host++) {
    await authenticator.check("me", "wrong", { peer: `10.0.${host >> 8}.${host & 255}:1`, signal });
  }
  assert.equal(await waitOf(authenticator, clock, "192.0.2.1:1", "wrong"), 0);
});

Deno.test("Authenticator stops waiting when its signal aborts", async () => {
  const clock = new FakeClock();
  const authenticator = new Authenticator(users, clock);
  await authenticator.check("me", "wrong", { peer: "unix:", signal });
  const stop = new AbortController();
  const check = authenticator.check("me", "secret", { peer: "unix:", signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(check, /enough/);
  assert.equal(clock.waiting, 0);
});
