import assert from "node:assert/strict";
import { LogTail } from "../../../../src/instance/watching/log_tail.ts";
import { createLog } from "../../../../src/core/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

function tailOf(level: "debug" | "info") {
  const clock = new FakeClock();
  const written: string[] = [];
  const write = (line: string) => void written.push(line);
  const tail = new LogTail(createLog({ level, format: "text", date: () => clock.date(), write }), clock);
  return { clock, tail, written };
}

Deno.test("LogTail keeps lines as they were written", () => {
  const { tail, written } = tailOf("info");
  tail.log.with({ conn: 7 }).info("conn.done", { reason: 'it "broke"\u202e', ms: 3, user: undefined });
  tail.log.debug("conn.more", { a: 1 });
  assert.equal(tail.log.writes("debug"), false);
  assert.deepEqual(tail.lines(), [{
    number: 1,
    time: "2026-01-01T00:00:00.000Z",
    level: "info",
    event: "conn.done",
    fields: 'conn=7 reason="it \\"broke\\"\\u202e" ms=3',
  }]);
  assert.deepEqual(written, [`2026-01-01T00:00:00.000Z INFO  conn.done ${tail.lines()[0]?.fields}\n`]);
});

Deno.test("LogTail keeps the last three hundred lines, with limited length", () => {
  const { tail } = tailOf("debug");
  for (let count = 1; count <= 500; count++) tail.log.debug("x", { count });
  assert.equal(tail.count, 500);
  assert.equal(tail.lines().length, 300);
  assert.deepEqual(tail.lines(498).map(({ number }) => number), [499, 500]);
  tail.log.warn("long", { text: "a".repeat(100_000) });
  assert.ok((tail.lines().at(-1)?.fields.length ?? 0) < 5000);
});
