import assert from "node:assert/strict";
import { startInBackground } from "../../../src/instances/mod.ts";
import type { Background } from "../../../src/world/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { type RunningInstance, startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const log = "/state/logs/work.log";

/** A world with a simulated program. */
function worldWhere(
  program: (world: MemoryWorld) => Promise<number>,
  { pid = 4711, env = {} }: { readonly pid?: number; readonly env?: Record<string, string> } = {},
) {
  const world = new MemoryWorld({ files: { "/c.yaml": "listen: { mixed: 127.0.0.1:7 }\n" }, env });
  const told: { command: readonly string[]; env?: unknown; isReleased: boolean; isEnded: boolean } = {
    command: [],
    isReleased: false,
    isEnded: false,
  };
  const stop = new AbortController();
  world.process.background = (command, { signal, env }): Promise<Background> => {
    told.command = command;
    if (env) told.env = env;
    const killed = new Promise<number>((resolve) =>
      signal.addEventListener("abort", () => {
        told.isEnded = true;
        resolve(143);
      })
    );
    const ended = Promise.race([program(world), killed]);
    return Promise.resolve({ pid, ended, release: () => void (told.isReleased = true) });
  };
  const { signal } = stop;
  const start = () => startInBackground(world, { id: "work", arguments: ["proxy", "--id=work"] }, { signal });
  return { world, told, start, stop };
}

Deno.test("startInBackground() waits until the instance is ready", async () => {
  const running = Promise.withResolvers<RunningInstance>();
  const { world, told, start } = worldWhere(async (world) => {
    running.resolve(await startInstance(world, { id: "work", config: "/c.yaml" }));
    return await new Promise(() => {});
  });
  const starting = start();
  const instance = await running.promise;
  await world.clock.advance(100);
  assert.deepEqual(await starting, { id: "work", pid: 4711, addresses: ["127.0.0.1:7"], clusters: [], log });
  assert.deepEqual(told, {
    command: ["postern", "proxy", "--id=work", `--log-file=${log}`],
    isReleased: true,
    isEnded: false,
  });
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("startInBackground() does not wait for an untrusted control socket", async () => {
  const { world, told, start } = worldWhere(() => new Promise(() => {}));
  world.files.distrusted.set("/run/me", 'other users can write to "/run" (mode 0777)');
  const starting = assert.rejects(start(), {
    detail: "untrusted",
    message: /other users can write to "\/run"/,
  });
  await world.clock.advance(100);
  await starting;
  assert.equal(told.isEnded, true);
});

Deno.test("startInBackground() passes KUBECONFIG with absolute paths, except one that postern set", async () => {
  const kubeconfigs = { KUBECONFIG: "a:/b" };
  for (
    const [env, handedOn] of [
      [kubeconfigs, { KUBECONFIG: "/here/a:/b" }],
      [{ ...kubeconfigs, POSTERN_CLUSTER: "c-lab" }, undefined],
      [{}, undefined],
    ] as const
  ) {
    const { told, start } = worldWhere(() => Promise.resolve(1), { env });
    await assert.rejects(start(), { code: "internal" });
    assert.deepEqual(told.env, handedOn);
  }
});

const deaths = [
  {
    name: "its message, hint and exit code",
    said:
      "info started\npostern: error: Cannot listen on 127.0.0.1:7: address already in use\npostern: hint: see lsof\n",
    code: 4,
    error: {
      message: "Cannot listen on 127.0.0.1:7: address already in use",
      hint: "see lsof",
      exit: 4,
    },
  },
  {
    name: "every problem of its configuration",
    said:
      "postern: error: Cannot use /c.yaml: 2 problems\n/c.yaml:1:1: a\n/c.yaml:2:1: b\npostern: hint: postern config check\n",
    code: 4,
    error: {
      message: "Cannot use /c.yaml: 2 problems\n/c.yaml:1:1: a\n/c.yaml:2:1: b",
      hint: "postern config check",
      exit: 4,
    },
  },
  {
    name: "its own error, not later log lines of the running instance",
    said:
      'postern: error: Cannot start instance "work": it is already running\npostern: hint: see it with: postern status\n' +
      "2026-01-02T03:04:05.000Z INFO  conn.done target=db.example.net:5432\n",
    code: 1,
    error: {
      message: 'Cannot start instance "work": it is already running',
      hint: "see it with: postern status",
      exit: 1,
    },
  },
  {
    name: "its last lines if it printed no error",
    said: "one\ntwo\nthree\nfour\n",
    code: 1,
    error: { message: "two\nthree\nfour", hint: `check its log: ${log}`, exit: 1 },
  },
  {
    name: "its exit code if it printed nothing, never success",
    said: "",
    code: 0,
    error: { message: 'Cannot start "work": it ended with exit code 0', exit: 1 },
  },
];
for (const { name, said, code, error } of deaths) {
  Deno.test(`startInBackground() of a failing instance throws ${name}`, async () => {
    const { world, told, start } = worldWhere((world) => {
      world.files.put(log, `postern: error: Cannot do what was tried yesterday ü\n${said}`);
      return Promise.resolve(code);
    });
    world.files.put(log, "postern: error: Cannot do what was tried yesterday ü\n");
    await assert.rejects(start(), error);
    assert.equal(told.isReleased, true);
  });
}

Deno.test("startInBackground() ignores another instance with that id, and times out", async () => {
  const { world, told, start } = worldWhere(() => new Promise(() => {}), { pid: 999 });
  const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
  const failed = assert.rejects(start(), { code: "timeout", message: /was not ready within 30 s/ });
  // Lets the other instance answer before the clock advances.
  await world.clock.advance(25);
  for (let turn = 0; turn < 50; turn++) await settle();
  await world.clock.advance(31_000);
  await failed;
  assert.equal(told.isEnded, true);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("startInBackground() ends an instance that is not ready on an interrupt", async () => {
  const { told, start, stop } = worldWhere(() => new Promise(() => {}));
  const reason = new Error("Interrupted");
  const failed = assert.rejects(start(), reason);
  await settle();
  stop.abort(reason);
  await failed;
  assert.deepEqual([told.isEnded, told.isReleased], [true, true]);
});
