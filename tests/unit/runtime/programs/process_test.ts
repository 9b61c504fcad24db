import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import type { Process } from "../../../../src/world/mod.ts";
import { createFiles } from "../../../../src/runtime/files/files.ts";
import { createProcess } from "../../../../src/runtime/programs/process.ts";
import { systemClock } from "../../../../src/runtime/system_clock.ts";
import { readAll } from "../../../support/memory_conn.ts";

const ignore = Deno.build.os === "windows";
const { signal } = new AbortController();
const files = createFiles(systemClock);
const process: Process = createProcess({
  clock: systemClock,
  files,
  main: "file:///src/main.ts",
  flags: ["--allow-env=HOME"],
});

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

test("run() collects both outputs and the exit code", async () => {
  const command = ["sh", "-c", "cat; echo $A; echo err >&2; exit 3"];
  const result = await process.run(command, { signal, stdin: "in ", env: { A: "b" } });
  assert.deepEqual(result, { code: 3, stdout: "in b\n", stderr: "err\n" });
});

test("run() passes no input by default, and lets the program ignore its input", async () => {
  assert.equal((await process.run(["cat"], { signal })).stdout, "");
  assert.equal((await process.run(["true"], { signal, stdin: "x".repeat(1_000_000) })).code, 0);
});

test("run() reports a missing program", async () => {
  await assert.rejects(
    process.run(["no-such-program-here"], { signal }),
    (error: PosternError) => error.code === "config" && /no such program$/.test(error.message),
  );
});

test("run() ends a program with too much output", async () => {
  await assert.rejects(
    process.run(["yes"], { signal }),
    (error: PosternError) => error.code === "protocol" && /more than 4194304 bytes/.test(error.message),
  );
});

test("run() ends the program with the signal, even if a grandchild keeps the output open", async () => {
  const reason = new Error("enough");
  for (const command of [["sleep", "60"], ["sh", "-c", "sleep 60 & wait"]]) {
    const controller = new AbortController();
    const running = process.run(command, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(running, (error) => error === reason);
  }
  await assert.rejects(
    process.run(["true"], { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  );
});

test("pipe() makes a program's input and output a connection, and keeps the end of its stderr", async () => {
  const { conn, ended } = await process.pipe(["sh", "-c", "cat; echo $A >&2; exit 3"], {
    signal,
    env: { A: "that was all" },
  });
  await conn.write(new TextEncoder().encode("through"));
  await conn.closeWrite();
  assert.equal(new TextDecoder().decode(await readAll(conn)), "through");
  assert.deepEqual(await ended, { code: 3, stderr: "that was all\n" });
  await assert.rejects(conn.write(new Uint8Array(1)));
  await conn[Symbol.asyncDispose]();
});

test("pipe() keeps only the end of a program's stderr, and does not wait for grandchildren", async () => {
  const { conn, ended } = await process.pipe(
    ["sh", "-c", "yes | head -c 1000000 >&2; echo end >&2; sleep 60 & echo $!"],
    { signal },
  );
  const into = new Uint8Array(20);
  const count = await conn.read(into) ?? 0;
  const { stderr } = await ended;
  assert.equal(stderr.length, 8 * 1024);
  assert.ok(stderr.endsWith("y\nend\n"));
  await conn[Symbol.asyncDispose]();
  Deno.kill(Number(new TextDecoder().decode(into.subarray(0, count))), "SIGKILL");
});

test("pipe() ends the program with the signal, even one that ignores SIGTERM", async () => {
  const reason = new Error("enough");
  for (const script of ["exec sleep 60", "trap '' TERM; echo ready; while :; do sleep 0.1; done"]) {
    const controller = new AbortController();
    const { conn, ended } = await process.pipe(["sh", "-c", script], { signal: controller.signal });
    if (script.startsWith("trap")) await conn.read(new Uint8Array(6));
    const reading = assert.rejects(conn.read(new Uint8Array(1)), reason);
    controller.abort(reason);
    await reading;
    assert.ok((await ended).code > 128);
    await conn[Symbol.asyncDispose]();
  }
  await assert.rejects(process.pipe(["true"], { signal: AbortSignal.abort(reason) }), reason);
});

test("pipe() starts a program in a separate session, and reports a missing one", async () => {
  const script = "read -r line </proc/$$/stat; set -- $line; [ $$ = $6 ] && echo own";
  const { conn } = await process.pipe(["sh", "-c", script], { signal });
  if (Deno.build.os === "linux") assert.equal(new TextDecoder().decode(await readAll(conn)), "own\n");
  await conn[Symbol.asyncDispose]();
  await assert.rejects(process.pipe(["no-such-program-here"], { signal }), { code: "config" });
});

test("background() appends the program's output to the log and reports its end", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const log = `${directory}/log`;
    await Deno.writeTextFile(log, "before\n", { mode: 0o600 });
    const { pid, ended } = await process.background(["sh", "-c", "echo $A >&2; exit 4"], {
      log,
      signal: new AbortController().signal,
      env: { A: "said" },
    });
    assert.equal(await ended, 4);
    assert.ok(pid > 0);
    assert.equal(await Deno.readTextFile(log), "before\nsaid\n");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (const command of ["exec sleep 60", "trap '' TERM; echo deaf >&2; exec sleep 60"]) {
  test(`background() ends its program with the signal: ${command}`, async () => {
    const directory = await Deno.makeTempDir();
    try {
      const stop = new AbortController();
      const log = `${directory}/log`;
      const { ended } = await process.background(["sh", "-c", command], { log, signal: stop.signal });
      while (command.startsWith("trap") && await Deno.readTextFile(log) === "") {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      stop.abort();
      assert.equal(await ended, command.startsWith("trap") ? 137 : 143);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

test("on() receives a signal until disposed", async () => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Waiting for a signal does not keep a process alive.
  using _alive = systemClock.after(10_000, () => reject(new Error("no signal arrived")));
  const hearing = process.on("SIGHUP", resolve);
  Deno.kill(process.pid, "SIGHUP");
  await promise;
  hearing[Symbol.dispose]();
});

Deno.test("self restarts main.ts with its flags", () => {
  assert.deepEqual(process.self, [Deno.execPath(), "run", "--allow-env=HOME", "file:///src/main.ts"]);
});

Deno.test({
  name: "env() names the missing flag",
  permissions: { env: ["HOME"] },
  fn() {
    process.env("HOME");
    assert.throws(
      () => process.env("OTHER"),
      (error: PosternError) =>
        error.code === "not_allowed" && error.hint === "start postern with --allow-env=OTHER",
    );
  },
});

Deno.test({
  name: "createProcess().run() names the missing flag for a program that is not listed",
  permissions: { run: ["true"] },
  fn: async () => {
    await assert.rejects(process.run(["id"], { signal: new AbortController().signal }), {
      code: "not_allowed",
      message: 'Cannot run "id": missing permission --allow-run=id',
      hint: "put the flag before the command: deno task postern --allow-run=id COMMAND",
    });
  },
});
