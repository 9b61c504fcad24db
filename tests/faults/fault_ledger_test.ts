import assert from "node:assert/strict";
import { readOutcomes } from "./instance_outcomes.ts";
import { FaultLedger, type StreamAccount } from "./fault_ledger.ts";

/** A successful stream through ssh from 1000 to 2000, with the given changes. */
function account(more: Partial<StreamAccount> = {}): StreamAccount {
  const plan = {
    id: 1,
    at: 0,
    way: "one",
    protocol: "http" as const,
    up: 100,
    down: 200,
    piece: 10,
    pause: 0,
    isHalfClosed: false,
    isEarly: false,
  };
  const whole = {
    up: 100,
    down: 200,
    corrupted: undefined,
    isLate: false,
    failure: undefined,
    outcome: "done",
  };
  return { plan, begunAt: 1000, endedAt: 2000, ...whole, ...more };
}

const cut = { down: 50, failure: "reset", outcome: "target_gone" };

const cases: readonly {
  readonly name: string;
  readonly account: StreamAccount;
  /** The trouble of its route. */
  readonly trouble?: readonly [from: number, until: number | undefined];
  readonly broken: readonly RegExp[];
}[] = [
  { name: "succeeded", account: account(), broken: [] },
  {
    name: "was cut without a fault",
    account: account(cut),
    broken: [/^cut short .* 50 of 200 down: reset$/],
  },
  { name: "was cut during a trouble", account: account(cut), trouble: [1500, 1600], broken: [] },
  {
    name: "was cut during a trouble that began earlier",
    account: account(cut),
    trouble: [0, 1001],
    broken: [],
  },
  {
    name: "was cut during a trouble that has not ended",
    account: account(cut),
    trouble: [1999, undefined],
    broken: [],
  },
  { name: "was cut after a trouble", account: account(cut), trouble: [0, 999], broken: [/^cut short/] },
  { name: "was cut before a trouble", account: account(cut), trouble: [2001, 3000], broken: [/^cut short/] },
  {
    name: "has a wrong byte during a trouble",
    account: account({ corrupted: "byte 7" }),
    trouble: [0, 3000],
    broken: [/^corrupted: byte 7$/],
  },
  {
    name: "received too much",
    account: account({ down: 201 }),
    trouble: [0, 3000],
    broken: [/^received more/],
  },
  {
    name: "hung",
    account: account({ ...cut, isLate: true }),
    trouble: [0, 3000],
    broken: [/^the stream hung/],
  },
  {
    name: "was cut but reported as done",
    account: account({ ...cut, outcome: "done" }),
    trouble: [0, 3000],
    broken: [/^a normal end after 100 of 100 up, 50 of 200 down$/],
  },
];
for (const { name, account, trouble, broken } of cases) {
  Deno.test(`FaultLedger.broken() judges a stream that ${name}`, () => {
    const ledger = new FaultLedger();
    ledger.begin("upstream/cut", ["upstream"], 0);
    if (trouble) {
      const end = ledger.begin("one/cut", ["one", "chain"], trouble[0]);
      if (trouble[1] !== undefined) end(trouble[1]);
    }
    const found = ledger.broken(account);
    assert.equal(found.length, broken.length, found.join("; "));
    for (const [at, pattern] of broken.entries()) assert.match(found[at] ?? "", pattern);
  });
}

Deno.test("readOutcomes() returns the outcomes of each client in order", () => {
  const line = (client: string, outcome: string) =>
    `2026-01-01 info conn.done conn=1 client=${client} protocol=http outcome=${outcome} reason="x"\n`;
  const log = `${line("127.0.0.1:1", "done")}something else\n${line("127.0.0.1:2", "timeout")}${
    line("127.0.0.1:1", "target_gone")
  }`;
  assert.deepEqual(
    [...readOutcomes(log)],
    [["127.0.0.1:1", ["done", "target_gone"]], ["127.0.0.1:2", ["timeout"]]],
  );
});
