import assert from "node:assert/strict";
import { exitCode } from "../../../../src/words/mod.ts";
import { runAttached } from "../../../../src/runtime/programs/attached_program.ts";
import { systemClock } from "../../../../src/runtime/system_clock.ts";

const { signal } = new AbortController();
const ignore = Deno.build.os === "windows";

const cases = [
  { name: "its exit code", script: "exit 42", code: 42 },
  { name: "its own variables", script: '[ "$POSTERN_TRIED" = "a b" ]', code: 0 },
  { name: "our variables", script: '[ -n "$PATH" ]', code: 0 },
  { name: "a signal that ended it", script: "kill -KILL $$", code: 137 },
  { name: "no separate process group", script: "! kill -s 0 -- -$$ 2>/dev/null", code: 0 },
];
for (const { name, script, code } of cases) {
  Deno.test({
    name: `runAttached() handles ${name}`,
    ignore,
    async fn() {
      const env = { POSTERN_TRIED: "a b" };
      assert.equal(await runAttached(["sh", "-c", script], { signal, env }, systemClock), code);
    },
  });
}

Deno.test({
  name: "runAttached() passes SIGTERM and SIGHUP on, and leaves SIGQUIT to the program",
  ignore,
  async fn() {
    for (
      const [name, code] of [["TERM", 143], ["HUP", 129], ["QUIT", 0]] as const
    ) {
      // The command line's tests cover SIGINT: here it would end the test runner. A signal that would end us
      // ends neither: the program continues unless it gets the signal too.
      const script = `kill -${name} $PPID; n=0; while [ $n -lt 5 ]; do sleep 0.1; n=$((n+1)); done; exit 0`;
      assert.equal(await runAttached(["sh", "-c", script], { signal }, systemClock), code, name);
    }
  },
});

Deno.test("runAttached() returns 127 for a missing program, and 126 for a file that is not one", async () => {
  const failures = [["/nowhere/program", 127], ["no-such-program-anywhere", 127], [
    Deno.makeTempFileSync(),
    126,
  ]] as const;
  for (const [program, code] of failures) {
    await assert.rejects(
      runAttached([program], { signal }, systemClock),
      (error) => exitCode(error) === code && /^Cannot run "/.test((error as Error).message),
    );
  }
  Deno.removeSync(failures[2][0]);
});

Deno.test({
  name: "runAttached() ends the program with the signal",
  ignore,
  async fn() {
    const ending = new AbortController();
    const running = runAttached(["sleep", "60"], { signal: ending.signal }, systemClock);
    ending.abort();
    assert.equal(await running, 143);
  },
});
