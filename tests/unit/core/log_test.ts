import assert from "node:assert/strict";
import { createLog, type LogLevel, logLevels, silentLog } from "../../../src/core/mod.ts";

function lines(level: LogLevel, format: "text" | "json") {
  const written: string[] = [];
  const date = () => new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
  return { written, log: createLog({ level, format, date, write: (line) => written.push(line) }) };
}

for (const [index, level] of logLevels.entries()) {
  Deno.test(`createLog() with ${level} writes that level and more urgent ones`, () => {
    const { log, written } = lines(level, "json");
    for (const each of logLevels) log[each]("x");
    assert.deepEqual(written.map((line) => JSON.parse(line).level), logLevels.slice(index));
    assert.deepEqual(logLevels.map((each) => log.writes(each)), logLevels.map((_, at) => at >= index));
  });
}

Deno.test("createLog() writes JSON that a program can read, one line each", () => {
  const { log, written } = lines("info", "json");
  log.with({ conn: 3 }).info("conn.done", { target: 'a"\nb', ok: true, ms: 1.5, gone: undefined });
  assert.equal(
    written.join(""),
    '{"time":"2026-01-02T03:04:05.006Z","level":"info","event":"conn.done","conn":3,"target":"a\\"\\nb",' +
      '"ok":true,"ms":1.5}\n',
  );
});

Deno.test("createLog() writes text that a person can read", () => {
  const { log, written } = lines("info", "text");
  log.warn("instance.full", { address: "[::1]:80", why: "two words", empty: "", gone: undefined, count: 0 });
  assert.deepEqual(written, [
    '2026-01-02T03:04:05.006Z WARN  instance.full address=[::1]:80 why="two words" empty="" count=0\n',
  ]);
});

const hostile = ["a\nb=1", "\x1b[2J", "\u009b2J", "\x7f", "\u202egnp", "\u2028", 'say "x"', "a\tb"];
for (const format of ["text", "json"] as const) {
  for (const text of hostile) {
    Deno.test(`createLog() escapes ${JSON.stringify(text)} for terminals as ${format}`, () => {
      const { log, written } = lines("info", format);
      log.info("x", { target: text });
      const line = written.join("");
      assert.match(line, /^[\x20-\x7e]+\n$/);
      const value = format === "json" ? line : `{"target":${line.slice(line.indexOf("target=") + 7)}}`;
      assert.equal(JSON.parse(value).target, text);
    });
  }
}

Deno.test("createLog() keeps names in other scripts readable", () => {
  const { log, written } = lines("info", "text");
  log.info("x", { target: "bücher.example" });
  assert.ok(written[0]?.endsWith(' target="bücher.example"\n'), written[0]);
});

Deno.test("silentLog writes no line", () => {
  silentLog.info("x");
  assert.equal(silentLog.writes("info"), false);
});
