import assert from "node:assert/strict";
import { runCommandLine } from "../../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../../src/permissions/mod.ts";
import { commandGroups } from "../../../../src/cli/line/all_commands.ts";
import { startInstance } from "../../../support/memory_instance.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { jsonAnswer, WebServer } from "../../../support/web_server.ts";

const context = { groups: commandGroups, version: "1.2.3", writeLogLine: () => {} };

/** A world in which a newer postern runs an instance. */
function withNewerInstance() {
  const world = new MemoryWorld({
    files: { "/c.yaml": "listen: { mixed: 127.0.0.1:7 }\n", "/run/me": "", "/run/me/later.lock": "" },
  });
  let said = "";
  Object.assign(world.terminal, { err: (text: string) => Promise.resolve(void (said += text)) });
  const hello = jsonAnswer({ version: "9.0.0", id: "later", pid: 1, protocol: 2 });
  const server = new WebServer(world.network.listen({ path: "/run/me/later.sock" }), () => hello);
  return { world, server, said: () => said };
}

Deno.test("status shows the other instances when one runs a newer postern", async () => {
  const { world, server, said } = withNewerInstance();
  await using _server = server;
  world.files.put("/run/me/work.lock", "");
  const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
  assert.equal(await runCommandLine(readCommandLine(["status", "-o", "json"]), world, context), 0);
  assert.deepEqual(JSON.parse(world.out).map(({ id }: { id: string }) => id), ["work"]);
  assert.match(said(), /^postern: instance "later" does not answer: .* newer postern \(9\.0\.0\)\n$/);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("status fails when the only instance cannot answer", async () => {
  const { world, server, said } = withNewerInstance();
  await using _server = server;
  assert.equal(await runCommandLine(readCommandLine(["status"]), world, context), 6);
  assert.match(said(), /no instance answers/);
  assert.equal(await runCommandLine(readCommandLine(["status", "--id", "later"]), world, context), 1);
});

Deno.test("status does not connect to a socket of another user, and reports why", async () => {
  const { world, server, said } = withNewerInstance();
  await using _server = server;
  world.files.put("/run/me/work.lock", "");
  world.files.distrusted.set("/run/me/later.sock", "it belongs to another user (65534)");
  const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
  assert.equal(await runCommandLine(readCommandLine(["status", "-o", "json"]), world, context), 0);
  assert.deepEqual(JSON.parse(world.out).map(({ id }: { id: string }) => id), ["work"]);
  assert.equal(
    said(),
    'postern: Cannot trust the socket "/run/me/later.sock": it belongs to another user (65534)\n',
  );
  world.kill("SIGTERM");
  await instance.ended;
  assert.equal(await runCommandLine(readCommandLine(["status"]), world, context), 4);
  assert.match(
    said(),
    /error: Cannot trust the socket .*\npostern: hint: remove it: rm "\/run\/me\/later\.sock"\n$/,
  );
  assert.deepEqual(server.requests, []);
});

Deno.test("status reports a directory of another user, and env answers without it", async () => {
  const { world, said } = withNewerInstance();
  world.files.put(
    "/config/config.yaml",
    "listen: { mixed: 127.0.0.1:7 }\nroutes: [{ to: a.example, via: reject }]\n",
  );
  Object.assign(world.places, { formerRuntime: "/tmp/postern-1000" });
  world.files.distrusted.set("/tmp/postern-1000", "it is a symbolic link");
  world.files.remove("/run/me/later.lock");
  assert.equal(await runCommandLine(readCommandLine(["status"]), world, context), 3);
  assert.match(
    said(),
    /^postern: Cannot trust the directory "\/tmp\/postern-1000": it is a symbolic link\n/,
  );
  assert.equal(await runCommandLine(readCommandLine(["env"]), world, context), 0);
  assert.match(world.out, /^export http_proxy='http:\/\/127\.0\.0\.1:7'$/m);
  assert.match(
    said(),
    /postern: Cannot trust the directory .*\npostern: instance "default" is not running: answered from/,
  );
});
