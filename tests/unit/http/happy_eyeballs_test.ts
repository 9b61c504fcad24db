import assert from "node:assert/strict";
import type { Conn } from "../../../src/core/mod.ts";
import { type ErrorCode, PosternError } from "../../../src/words/mod.ts";
import { firstConnected, interleaved } from "../../../src/http/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { type MemoryConn, memoryPair } from "../../support/memory_conn.ts";

const six = (count: number) => Array.from({ length: count }, (_, at) => `2001:db8::${at + 1}`);
const four = (count: number) => Array.from({ length: count }, (_, at) => `192.0.2.${at + 1}`);

for (
  const { name, given, wanted } of [
    { name: "a single family unchanged", given: four(3), wanted: four(3) },
    {
      name: "IPv6 first when the resolver returns it first",
      given: [...six(1), ...four(1)],
      wanted: [...six(1), ...four(1)],
    },
    {
      name: "IPv4 first when the resolver returns it first",
      given: [...four(1), ...six(1)],
      wanted: [...four(1), ...six(1)],
    },
    {
      name: "alternating families",
      given: [...six(3), ...four(2)],
      wanted: ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"],
    },
    {
      name: "remaining addresses of the second family at the end",
      given: ["192.0.2.1", ...six(3)],
      wanted: ["192.0.2.1", ...six(3)],
    },
    { name: "nothing", given: [], wanted: [] },
  ]
) {
  Deno.test(`interleaved() returns ${name}`, () => assert.deepEqual(interleaved(given), wanted));
}

const reasons: Partial<Record<ErrorCode, string>> = {
  refused: "connection refused",
  unreachable: "unreachable",
  timeout: "no answer",
};

/** A race whose attempts the test completes one by one. */
class Arena {
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  readonly started: string[] = [];
  readonly stopped: string[] = [];
  readonly #answers = new Map<string, PromiseWithResolvers<Conn>>();

  race(addresses: readonly string[]): Promise<Conn> {
    return firstConnected(addresses, (address, { signal }) => {
      this.started.push(address);
      const answer = Promise.withResolvers<Conn>();
      this.#answers.set(address, answer);
      signal.addEventListener("abort", () => {
        this.stopped.push(address);
        answer.reject(signal.reason);
      });
      return answer.promise;
    }, { clock: this.clock, signal: this.stop.signal, name: "example.com", port: 443 });
  }

  async connect(address: string): Promise<MemoryConn> {
    const [near] = memoryPair();
    this.#answers.get(address)?.resolve(near);
    await settle();
    return near;
  }

  async fail(address: string, code: ErrorCode): Promise<void> {
    this.#answers.get(address)?.reject(
      new PosternError(code, `Cannot reach ${address}`, { reason: reasons[code] }),
    );
    await settle();
  }
}

Deno.test("firstConnected() starts the next address after 250 ms, not earlier", async () => {
  const arena = new Arena();
  const race = arena.race(["a::1", "b"]);
  await arena.clock.advance(249);
  assert.deepEqual(arena.started, ["a::1"]);
  await arena.clock.advance(1);
  assert.deepEqual(arena.started, ["a::1", "b"]);
  const conn = await arena.connect("b");
  assert.equal(await race, conn);
  assert.deepEqual(arena.stopped, ["a::1"]);
  assert.equal(arena.clock.waiting, 0);
});

Deno.test("firstConnected() starts the next address at once when one fails", async () => {
  const arena = new Arena();
  const race = arena.race(["a::1", "b", "c"]);
  await arena.clock.advance(100);
  await arena.fail("a::1", "refused");
  assert.deepEqual(arena.started, ["a::1", "b"]);
  // The delay restarts with each attempt.
  await arena.clock.advance(249);
  assert.deepEqual(arena.started, ["a::1", "b"]);
  await arena.clock.advance(1);
  assert.deepEqual(arena.started, ["a::1", "b", "c"]);
  const conn = await arena.connect("c");
  assert.equal(await race, conn);
  assert.equal(arena.clock.waiting, 0);
});

Deno.test("firstConnected() keeps a slow first address in the race", async () => {
  const arena = new Arena();
  const race = arena.race(["a::1", "b"]);
  await arena.clock.advance(5000);
  const conn = await arena.connect("a::1");
  assert.equal(await race, conn);
  assert.deepEqual(arena.stopped, ["b"]);
});

Deno.test("firstConnected() closes a late connection", async () => {
  const clock = new FakeClock();
  const late = Promise.withResolvers<Conn>();
  const [winner] = memoryPair();
  const [loser] = memoryPair();
  const race = firstConnected(
    ["a::1", "b"],
    (address) => address === "b" ? Promise.resolve(winner) : late.promise,
    { clock, signal: new AbortController().signal, name: "example.com", port: 443 },
  );
  await clock.advance(250);
  assert.equal(await race, winner);
  late.resolve(loser);
  await settle();
  assert.equal(loser.isClosed, true);
  assert.equal(winner.isClosed, false);
});

Deno.test("firstConnected() stops every attempt when the signal aborts, and throws its reason", async () => {
  const arena = new Arena();
  const race = arena.race(["a::1", "b", "c"]);
  await arena.clock.advance(250);
  const reason = new Error("enough");
  const failed = assert.rejects(race, reason);
  arena.stop.abort(reason);
  await failed;
  assert.deepEqual(arena.stopped, ["a::1", "b"]);
  await arena.clock.advance(1000);
  assert.deepEqual(arena.started, ["a::1", "b"]);
  assert.equal(arena.clock.waiting, 0);
});

Deno.test("firstConnected() starts nothing for an aborted signal", async () => {
  const arena = new Arena();
  arena.stop.abort(new Error("enough"));
  await assert.rejects(arena.race(["a::1"]), /enough/);
  assert.deepEqual(arena.started, []);
});

Deno.test("firstConnected() needs no clock for one address, and throws the signal's reason", async () => {
  const arena = new Arena();
  const race = arena.race(["a::1"]);
  assert.equal(arena.clock.waiting, 0);
  const reason = new Error("enough");
  const failed = assert.rejects(race, reason);
  arena.stop.abort(reason);
  await failed;
  assert.deepEqual(arena.stopped, ["a::1"]);
});

const failures: { codes: ErrorCode[]; code: ErrorCode; says: string }[] = [
  {
    codes: ["refused", "refused"],
    code: "refused",
    says: "Cannot reach example.com:443: connection refused (a::1, b2)",
  },
  {
    codes: ["unreachable", "refused"],
    code: "refused",
    says: "Cannot reach example.com:443: unreachable (a::1), connection refused (b2)",
  },
  {
    codes: ["timeout", "unreachable"],
    code: "unreachable",
    says: "Cannot reach example.com:443: no answer (a::1), unreachable (b2)",
  },
  { codes: ["timeout"], code: "timeout", says: "Cannot reach example.com:443: no answer (a::1)" },
  {
    codes: ["internal", "timeout"],
    code: "timeout",
    says: "Cannot reach example.com:443: cannot reach a::1 (a::1), no answer (b2)",
  },
  {
    codes: ["refused", "refused", "refused", "refused", "refused", "refused"],
    code: "refused",
    says: "Cannot reach example.com:443: connection refused (a::1, b2, b3, b4), and 2 more",
  },
];
for (const { codes, code, says } of failures) {
  Deno.test(`firstConnected() reports ${code} for ${codes.join(", ")}`, async () => {
    const arena = new Arena();
    const addresses = codes.map((_, at) => at === 0 ? "a::1" : `b${at + 1}`);
    const race = arena.race(addresses);
    const failed = assert.rejects(race, { name: "PosternError", code, message: says });
    for (const [at, address] of addresses.entries()) await arena.fail(address, codes[at] ?? "internal");
    await failed;
    assert.equal(arena.clock.waiting, 0);
  });
}

Deno.test("firstConnected() reports a loop like a dial to the address itself", async () => {
  for (const addresses of [["a::1"], ["a::1", "b"]]) {
    const loop = new PosternError("not_allowed", "Cannot connect to a::1: a loop", {
      detail: "loop",
      hint: "dial another target",
    });
    const connect = (address: string) =>
      Promise.reject(address === "a::1" ? loop : new PosternError("refused", "no"));
    const { signal } = new AbortController();
    const options = { clock: new FakeClock(), signal, name: "localhost", port: 1 };
    await assert.rejects(firstConnected(addresses, connect, options), (error) => error === loop);
  }
});

Deno.test("firstConnected() keeps the hint of the reported failure", async () => {
  const failure = new PosternError("not_allowed", "Cannot reach it", { hint: "allow it" });
  const { signal } = new AbortController();
  const options = { clock: new FakeClock(), signal, name: "localhost", port: 1 };
  await assert.rejects(firstConnected(["a::1"], () => Promise.reject(failure), options), {
    hint: "allow it",
  });
});

Deno.test("firstConnected() omits this machine's addresses when all failed for the same reason", async () => {
  const { signal } = new AbortController();
  const reached = (name: string, reasons: Readonly<Record<string, string>>) =>
    firstConnected(
      Object.keys(reasons),
      (address) =>
        Promise.reject(
          new PosternError("refused", `Cannot reach ${address}:1`, { reason: reasons[address] }),
        ),
      { clock: new FakeClock(), signal, name, port: 1 },
    );
  const alike = { "127.0.0.1": "connection refused", "::1": "connection refused" };
  await assert.rejects(reached("localhost", alike), {
    message: "Cannot reach localhost:1: connection refused",
    reason: "connection refused",
  });
  await assert.rejects(reached("host.example", alike), {
    message: "Cannot reach host.example:1: connection refused (127.0.0.1, ::1)",
  });
  await assert.rejects(reached("localhost", { ...alike, "::1": "no way to that network" }), {
    message: "Cannot reach localhost:1: connection refused (127.0.0.1), no way to that network (::1)",
  });
});
