import assert from "node:assert/strict";
import { loadNc, run } from "../../../../src/cli/mod.ts";
import type { Conn } from "../../../../src/core/mod.ts";
import { readCommandLine } from "../../../../src/permissions/mod.ts";
import { connectInstance } from "../../../../src/instances/mod.ts";
import { ncTarget } from "../../../../src/cli/instance/nc_target.ts";
import { relayStdio } from "../../../../src/cli/instance/nc_stream.ts";
import { settle } from "../../../support/fake_clock.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { startInstance, take } from "../../../support/memory_instance.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const target = { host: "192.0.2.1", port: 80 };
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

/** A world with its error output. */
function worldWith(
  { config = "default: direct\nlisten: { mixed: 127.0.0.1:1 }\n", env = {} }: {
    readonly config?: string;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): { readonly world: MemoryWorld; readonly said: () => string } {
  const world = new MemoryWorld({ files: { "/config/config.yaml": config }, env });
  let said = "";
  world.terminal.err = (line) => Promise.resolve(void (said += line));
  return { world, said: () => said };
}

/** Runs a line as the program does: first through the instance, then with the parser. */
async function nc(world: MemoryWorld, ...args: readonly string[]): Promise<number> {
  const line = readCommandLine(args);
  const plain = await loadNc();
  const context = { version: "1.2.3", writeLogLine: () => {} };
  return await plain(line, world) ?? await run(line, world, context);
}

function accepting(world: MemoryWorld): Promise<Conn> {
  return world.network.listen(target).accept().then((conn) => conn ?? assert.fail("closed"));
}

for (const hasInstance of [true, false]) {
  for (const words of [["nc", "192.0.2.1", "80"], ["nc", "192.0.2.1:80"], ["connect", "192.0.2.1:80"]]) {
    const how = hasInstance ? "with" : "without";
    Deno.test(`postern ${words.join(" ")} keeps half-closes ${how} an instance`, async () => {
      const { world, said } = worldWith();
      const instance = hasInstance ? await startInstance(world) : undefined;
      const accepted = accepting(world);
      const running = nc(world, ...words);
      const far = await accepted;
      const [, user] = world.stdio;
      await user.write(bytes("question"));
      await user.closeWrite();
      assert.equal(text(await readAll(far)), "question");
      await far.write(bytes("answer"));
      await far.closeWrite();
      assert.equal(text(await readAll(user)), "answer");
      assert.deepEqual([await running, said()], [0, ""]);
      assert.equal(world.kept.includes("nothing"), hasInstance);
      world.kill("SIGTERM");
      await instance?.ended;
    });
  }
}

Deno.test("postern nc --id needs that instance, and never uses the configuration instead", async () => {
  const { world, said } = worldWith();
  world.network.listen(target);
  assert.equal(await nc(world, "nc", "--id", "lab", "192.0.2.1:80"), 3);
  assert.match(said(), /^postern: error: Cannot query instance "lab": it is not running\n/);
});

for (const hasInstance of [true, false]) {
  const config =
    "default: reject\nlisten: { mixed: 127.0.0.1:1 }\nroutes: [{ to: 192.0.2.1, via: direct }]\n";
  Deno.test(`postern nc tells why, with the exit code, ${hasInstance ? "with" : "without"} an instance`, async () => {
    const { world, said } = worldWith({ config });
    const instance = hasInstance ? await startInstance(world) : undefined;
    assert.equal(await nc(world, "nc", "192.0.2.1:80"), 6);
    assert.match(said(), /^postern: error: Cannot reach 192\.0\.2\.1:80: /);
    assert.equal(await nc(world, "nc", "192.0.2.9:80"), 1);
    assert.match(said(), /Cannot reach this target: a rule of postern rejects it/);
    world.kill("SIGTERM");
    await instance?.ended;
  });
}

Deno.test("postern nc reports a target that fails later", async () => {
  const { world, said } = worldWith();
  const instance = await startInstance(world);
  const accepted = accepting(world);
  const running = nc(world, "nc", "192.0.2.1:80");
  const far = await accepted;
  await far.write(bytes("half"));
  assert.equal(text(await take(world.stdio[1], 4)), "half");
  const client = await connectInstance(world, "default", { signal: new AbortController().signal });
  await client.closeConnection(1, { signal: new AbortController().signal });
  assert.equal(await running, 6);
  assert.equal(said(), "postern: error: The connection ended: Closed on request\n");
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("postern nc reports a target that it cuts off on a path without half-close", async () => {
  const { world } = worldWith();
  const [conn, far] = memoryPair();
  const held = Object.assign(conn, { carriesHalfClose: false });
  const request = { quit: undefined, isProbe: false };
  const ended = assert.rejects(
    relayStdio(world, held, { request, halfCloseLinger: 30_000 }),
    { code: "timeout", message: "The client closed its side, and the target kept sending" },
  );
  await world.stdio[1].closeWrite();
  await far.write(bytes("half of the an"));
  assert.equal(text(await take(world.stdio[1], 14)), "half of the an");
  await world.clock.advance(30_000);
  await ended;
});

Deno.test("postern nc -z ends after connecting", async () => {
  const { world } = worldWith();
  const accepted = accepting(world);
  assert.equal(await nc(world, "nc", "-z", "192.0.2.1:80"), 0);
  assert.equal(await (await accepted).read(new Uint8Array(1)), null);
});

Deno.test("postern nc -w limits the time to connect", async () => {
  const { world, said } = worldWith();
  world.network.connect = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const running = nc(world, "nc", "-w", "5", "192.0.2.1:80");
  await settle();
  await world.clock.advance(5000);
  assert.equal(await running, 6);
  assert.match(said(), /Cannot reach 192\.0\.2\.1:80: no answer within 5 s\n.*-w SECONDS/);
});

Deno.test("postern nc uses the listener of an older instance, with its password", async () => {
  const { world, said } = worldWith();
  const environment = JSON.stringify({
    http: "http://me:secret%21@127.0.0.1:9",
    socks: "socks5h://127.0.0.1:9",
    noProxy: [],
    notes: [],
    needsAuth: false,
  });
  const hello = JSON.stringify({ version: "0.1.0", id: "default", pid: 1, protocol: 1 });
  const control = world.network.listen({ path: "/run/me/default.sock" });
  const answer = (status: string, body: string) =>
    bytes(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  const serving = (async () => {
    for (const page of ["stream", "stream", "hello", "env"]) {
      const conn = await control.accept() ?? assert.fail("closed");
      const asked = text(await take(conn, 7));
      if (asked === "CONNECT") {
        await conn.write(bytes(
          "HTTP/1.1 400 Bad Request\r\nPostern-Error: usage; Cannot serve as a proxy on this listener\r\n" +
            "Content-Length: 0\r\n\r\n",
        ));
      } else await conn.write(answer("200 OK", page === "hello" ? hello : environment));
      await conn.closeWrite();
    }
  })();
  const proxy = world.network.listen({ host: "127.0.0.1", port: 9 });
  const proxied = (async () => {
    const conn = await proxy.accept() ?? assert.fail("closed");
    let head = "";
    while (!head.includes("\r\n\r\n")) head += text(await take(conn, 1));
    await conn.write(bytes("HTTP/1.1 200 OK\r\n\r\nhello"));
    await conn.closeWrite();
    return head;
  })();
  await world.stdio[1].closeWrite();
  assert.equal(await nc(world, "nc", "192.0.2.1:80"), 0, said());
  assert.equal(text(await readAll(world.stdio[1])), "hello");
  assert.match(await proxied, new RegExp(`^CONNECT 192\\.0\\.2\\.1:80 .*${btoa("me:secret!")}`, "s"));
  await serving;
});

Deno.test("postern nc refuses a path through a host whose ProxyCommand runs it", async () => {
  const { world, said } = worldWith({
    config: "transports: { corp: { ssh: jump1 } }\nroutes: [{ to: 192.0.2.1, via: corp }]\n",
    env: { POSTERN_HOPS: "other jump1" },
  });
  assert.equal(await nc(world, "nc", "192.0.2.1:80"), 1);
  assert.match(said(), /the ProxyCommand of ssh host "jump1" requests it, and transport "corp"/);
});

for (const words of [["https://me:secret@h:22"], ["socks5://me:secret@h", "22"], ["me:secret@h:22"]]) {
  Deno.test(`postern nc ${words.join(" ")} does not show the password`, async () => {
    const { world, said } = worldWith();
    assert.equal(await nc(world, "nc", ...words), 2);
    assert.match(said(), /Cannot read "\S*me:\*\*\*@h/);
  });
}

const targets = [
  { words: ["::1", "22"], host: "::1", port: 22 },
  { words: ["[2001:DB8::1]:22"], host: "2001:db8::1", port: 22 },
  { words: ["[::1]", "22"], host: "::1", port: 22 },
  { words: ["DB.Example.net", "5432"], host: "DB.Example.net", port: 5432 },
];
for (const { words, ...expected } of targets) {
  Deno.test(`ncTarget() reads ${words.join(" ")}`, () => assert.deepEqual(ncTarget(words), expected));
}
for (
  const words of [["a"], ["a", "0"], ["a:0"], ["a", "65536"], ["a", "ssh"], ["a:1", "2"], ["a", "1", "b"], [
    "",
  ]]
) {
  Deno.test(`ncTarget() refuses "${words.join(" ")}"`, () => {
    assert.throws(() => ncTarget(words), { code: "usage" });
  });
}
