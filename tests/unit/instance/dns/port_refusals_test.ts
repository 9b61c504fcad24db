import assert from "node:assert/strict";
import { lowPortHint, PortRefusals } from "../../../../src/instance/dns/port_refusals.ts";
import { type ErrorDetail, PosternError } from "../../../../src/words/mod.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { recordingLog } from "../../../support/recording_log.ts";

function place(platform: "linux" | "darwin" | "windows" = "linux") {
  const log = recordingLog();
  const tasks: Promise<void>[] = [];
  const refusals = new PortRefusals({
    world: new MemoryWorld({ platform }),
    log,
    own: () => [{ host: "0.0.0.0", port: 12_000 }, { path: "/run/x" }],
    spawn: (task) => void tasks.push(task()),
  });
  const refuse = (port: number, detail: ErrorDetail, address = "127.64.0.1") => {
    const error = new PosternError("config", `Cannot listen on ${address}:${port}: no`, {
      detail,
      hint: "lsof",
    });
    refusals.tell({ name: "db.example", address, port, error });
  };
  const told = async () => {
    await Promise.all(tasks);
    return log.lines.map(({ address, port, hint }) => `${address}:${port} ${hint}`);
  };
  return { refusals, refuse, told };
}

Deno.test("PortRefusals names a port in use once, and again after a reload", async () => {
  const { refusals, refuse, told } = place();
  refuse(5432, "in_use");
  refuse(5432, "in_use", "127.64.0.2");
  refuse(6379, "in_use");
  assert.deepEqual(await told(), ["127.64.0.1:5432 lsof", "127.64.0.1:6379 lsof"]);
  refusals.forget();
  refuse(5432, "in_use");
  assert.equal((await told()).length, 3);
});

Deno.test("PortRefusals says when the instance itself holds the port on every address", async () => {
  const { refuse, told } = place();
  refuse(12_000, "in_use");
  assert.match(
    (await told())[0] ?? "",
    /this instance listens on 0\.0\.0\.0:12000: give that listener a single/,
  );
});

Deno.test("PortRefusals says once how to listen on ports below 1024", async () => {
  const { refuse, told } = place();
  refuse(80, "low_port");
  refuse(443, "low_port");
  const [first = "", ...more] = await told();
  assert.match(
    first,
    /sysctl net\.ipv4\.ip_unprivileged_port_start=80; .*setcap cap_net_bind_service=\+ep 'postern'$/,
  );
  assert.deepEqual(more, []);
  const source = { platform: "linux", isCompiled: false, self: ["/usr/bin/deno"] } as const;
  assert.doesNotMatch(lowPortHint(source, 80), /setcap/);
  assert.match(lowPortHint({ ...source, platform: "darwin" }, 80), /administrator/);
});

Deno.test("PortRefusals prints the command for an address that macOS does not have", async () => {
  const { refuse, told } = place("darwin");
  refuse(5432, "network");
  refuse(6379, "network");
  refuse(5432, "network", "127.64.0.2");
  const command = (address: string) => `add the address: sudo ifconfig lo0 alias ${address}/32 up`;
  assert.deepEqual(await told(), [
    `127.64.0.1:5432 ${command("127.64.0.1")}`,
    `127.64.0.2:5432 ${command("127.64.0.2")}`,
  ]);
});
