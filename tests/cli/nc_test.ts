import assert from "node:assert/strict";
import { patternBytes } from "../support/pattern_bytes.ts";
import { readAll } from "../support/memory_conn.ts";
import { Household } from "../support/postern_process.ts";

/** A server that handles each client with `serve`. */
function serving(serve: (conn: Deno.TcpConn) => Promise<void>) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    for await (const conn of listener) {
      await serve(conn);
      conn.close();
    }
  })();
  return {
    port: String(listener.addr.port),
    async [Symbol.asyncDispose]() {
      listener.close();
      await served;
    },
  };
}

async function bytesFrom(conn: Deno.TcpConn): Promise<Uint8Array> {
  return await readAll(
    { read: (into: Uint8Array<ArrayBuffer>) => conn.read(into) } as Parameters<typeof readAll>[0],
  );
}

/** Starts `postern nc`; the caller uses its streams. */
function start(home: Household, ...args: readonly string[]): Deno.ChildProcess {
  const { command: [program = "", ...rest], env } = home.commandLine(["nc", ...args]);
  return new Deno.Command(program, {
    args: rest,
    env: { ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("postern nc carries any bytes both ways, with a slow reader at each end", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  const [up, down] = [patternBytes(5_000_000, 1), patternBytes(5_000_000, 2)];
  let seen: Uint8Array | undefined;
  await using server = serving(async (conn) => {
    seen = await bytesFrom(conn);
    await conn.write(down.slice(0, 1));
    for (let at = 1; at < down.length;) at += await conn.write(down.subarray(at));
  });
  const use = async () => {
    const child = start(home, "127.0.0.1", server.port);
    const writer = child.stdin.getWriter();
    await writer.write(up);
    await writer.close();
    const { code, stdout, stderr } = await child.output();
    assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
    assert.deepEqual(new Uint8Array(stdout), down);
    assert.deepEqual(seen, up);
  };
  await use();
  await using _instance = await home.instance();
  await use();
});

Deno.test("postern nc ends after the target's end, although its input stays open", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using _instance = await home.instance();
  await using server = serving(async (conn) => void await conn.write(new TextEncoder().encode("bye\n")));
  const child = start(home, `127.0.0.1:${server.port}`);
  const [said, { code }] = await Promise.all([new Response(child.stdout).text(), child.status]);
  assert.deepEqual([code, said], [0, "bye\n"]);
  await child.stdin.abort();
  await child.stderr.cancel();
});

Deno.test("postern nc -q ends although the target stays open", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  const ended = Promise.withResolvers<void>();
  await using server = serving(() => ended.promise);
  const child = start(home, "-q", "0", "127.0.0.1", server.port);
  await child.stdin.close();
  const { code, stderr } = await child.output();
  ended.resolve();
  assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
});

Deno.test("postern nc ends quietly when its reader leaves", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using server = serving(async (conn) => {
    const much = new Uint8Array(64 * 1024);
    try {
      while (true) await conn.write(much);
    } catch {
      // The client has gone.
    }
  });
  const child = start(home, "127.0.0.1", server.port);
  const reader = child.stdout.getReader();
  assert.equal((await reader.read()).done, false);
  await reader.cancel();
  const { code } = await child.status;
  assert.deepEqual([code, await new Response(child.stderr).text()], [0, ""]);
  await child.stdin.abort();
});
