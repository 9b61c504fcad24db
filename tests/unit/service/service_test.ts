import assert from "node:assert/strict";
import {
  installService,
  planRemoval,
  planService,
  removeService,
  serviceStates,
} from "../../../src/service/mod.ts";
import type { ServiceOptions } from "../../../src/service/service_plan.ts";
import { commandGroups } from "../../../src/cli/line/all_commands.ts";
import { runCommandLine } from "../../../src/cli/line/command_line.ts";
import { readCommandLine } from "../../../src/permissions/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import type { RunResult } from "../../../src/world/mod.ts";
import { MemoryWorld, type MemoryWorldOptions } from "../../support/memory_world.ts";

const { signal } = new AbortController();
const plain = "listen: { mixed: localhost:12000 }\ndefault: direct\nroutes: [{ to: any, via: direct }]\n";

interface Machine {
  readonly world: MemoryWorld;
  /** The commands of the service manager. */
  readonly ran: string[];
  /** The messages to the user. */
  readonly told: string[];
  readonly run: { readonly signal: AbortSignal; readonly tell: (step: string) => Promise<void> };
}

function machine(
  { config = plain, answer = () => ({ code: 0, stdout: "", stderr: "" }), ...options }: MemoryWorldOptions & {
    config?: string;
    answer?: (command: string) => RunResult;
  } = {},
): Machine {
  const world = new MemoryWorld({ files: { "/home/me/.config/postern/config.yaml": config }, ...options });
  const ran: string[] = [];
  const told: string[] = [];
  const run = (command: readonly string[]) => {
    ran.push(command.join(" "));
    return Promise.try(answer, command.join(" "));
  };
  Object.assign(world, { places: { ...world.places, config: "/home/me/.config/postern" } });
  Object.assign(world.process, { run, self: ["/opt/postern"] });
  return { world, ran, told, run: { signal, tell: (step) => Promise.resolve(void told.push(step)) } };
}

async function install(
  { world, run }: Machine,
  options: Partial<ServiceOptions> = {},
): Promise<void> {
  await installService(world, await planService(world, { hasTimer: false, ...options }), run);
}

const service = "/home/me/.config/systemd/user/postern.service";
const socket = "/home/me/.config/systemd/user/postern.socket";

async function lines({ world }: Machine, path: string): Promise<string[]> {
  return (await world.files.readText(path)).split("\n").filter((line) =>
    line !== "" && !line.startsWith("#")
  );
}

Deno.test("installService() writes a service and its socket, and starts the socket", async () => {
  const it = machine();
  await install(it);
  const unit = await lines(it, service);
  assert.ok(
    unit.includes("ExecStart=/opt/postern proxy --on-demand=systemd=postern.socket"),
    unit.join("\n"),
  );
  assert.ok(unit.includes("TimeoutStopSec=45"));
  assert.ok(!unit.includes("[Install]"));
  assert.deepEqual(await lines(it, socket), [
    "[Unit]",
    "Description=postern listening socket",
    "[Socket]",
    "ListenStream=127.0.0.1:12000",
    "ListenStream=[::1]:12000",
    "FileDescriptorName=postern.socket",
    "FreeBind=yes",
    "[Install]",
    "WantedBy=sockets.target",
  ]);
  assert.equal((await it.world.files.info(service))?.mode, 0o644);
  assert.deepEqual(it.ran, [
    "systemctl --user daemon-reload",
    "systemctl --user disable --now postern.service",
    "systemctl --user enable postern.socket",
    "systemctl --user restart postern.socket",
  ]);
});

Deno.test("installService() changes nothing when repeated", async () => {
  const it = machine();
  await install(it);
  it.ran.length = it.told.length = 0;
  await install(it);
  assert.deepEqual(it.ran, ["systemctl --user enable --now postern.socket"]);
  assert.deepEqual(it.told, [
    `${service} is unchanged`,
    `${socket} is unchanged`,
    "ran systemctl --user enable --now postern.socket",
  ]);
});

Deno.test("installService() switches between the two kinds of service", async () => {
  const it = machine();
  await install(it);
  it.ran.length = 0;
  await install(it, { isAlways: true });
  assert.equal(await it.world.files.info(socket), undefined);
  const unit = await lines(it, service);
  assert.deepEqual(unit.slice(-2), ["[Install]", "WantedBy=default.target"]);
  assert.ok(unit.includes("ExecStart=/opt/postern proxy") && unit.includes("Restart=on-failure"));
  assert.deepEqual(it.ran, [
    "systemctl --user disable --now postern.socket",
    "systemctl --user daemon-reload",
    "systemctl --user enable postern.service",
    "systemctl --user restart postern.service",
  ]);
});

Deno.test("installService() with a timer fetches the catalogue once a day", async () => {
  const it = machine();
  await install(it, { hasTimer: true });
  const unit = await lines(it, "/home/me/.config/systemd/user/postern-update.service");
  assert.ok(unit.includes("ExecStart=/opt/postern update --if-older-than=12h --no-sign-in"));
  assert.equal(it.ran.at(-1), "systemctl --user enable --now postern-update.timer");
});

Deno.test("planService() replaces no file of another program", async () => {
  const it = machine();
  it.world.files.put(socket, "[Socket]\nListenStream=1\n");
  await assert.rejects(install(it), {
    code: "config",
    exit: 1,
    message: /Cannot write .*did not write the existing file$/,
  });
  assert.deepEqual(it.ran, []);
});

Deno.test("postern service-install --print prints the files despite existing ones, as the error's hint promises", async () => {
  const { world } = machine();
  world.files.put(service, "[Service]\nExecStart=/opt/other\n");
  const context = { groups: commandGroups, version: "1", writeLogLine: () => {} };
  assert.equal(await runCommandLine(readCommandLine(["service-install", "--print"]), world, context), 0);
  assert.match(
    world.out,
    /^# \/home\/me\/\.config\/systemd\/user\/postern\.service\n[^]*ExecStart=\/opt\/postern proxy/,
  );
  assert.equal(await runCommandLine(readCommandLine(["service-install", "--yes"]), world, context), 1);
  assert.equal(await world.files.readText(service), "[Service]\nExecStart=/opt/other\n");
});

Deno.test("planService() gives the service an absolute configuration path in systemd's syntax", async () => {
  const it = machine({ files: { "/here/50% of $it/c.yaml": plain } });
  await install(it, { config: "50% of $it/c.yaml", idleExit: "10m" });
  const unit = await lines(it, service);
  const found = unit.find((line) => line.startsWith("ExecStart="));
  assert.equal(
    found,
    'ExecStart=/opt/postern proxy "--config=/here/50%% of $$it/c.yaml" --on-demand=systemd=postern.socket --idle-exit=10m',
  );
});

const agents: readonly { name: string; env: Record<string, string>; line: string | undefined }[] = [
  {
    name: "of current GNOME",
    env: { XDG_RUNTIME_DIR: "/run/user/1000", SSH_AUTH_SOCK: "/run/user/1000/gcr/ssh" },
    line: 'Environment="SSH_AUTH_SOCK=%t/gcr/ssh"',
  },
  {
    name: "of GNOME without a variable",
    env: { XDG_RUNTIME_DIR: "/run/user/1000", XDG_CURRENT_DESKTOP: "ubuntu:GNOME" },
    line: 'Environment="SSH_AUTH_SOCK=%t/gcr/ssh"',
  },
  {
    name: "in the home directory",
    env: { SSH_AUTH_SOCK: "/home/me/.1password/agent.sock" },
    line: "Environment=SSH_AUTH_SOCK=/home/me/.1password/agent.sock",
  },
  {
    name: "of this login only",
    env: { XDG_RUNTIME_DIR: "/run/user/1000", SSH_AUTH_SOCK: "/tmp/ssh-x/agent.1" },
    line: undefined,
  },
  { name: "that does not exist", env: { XDG_RUNTIME_DIR: "/run/user/1000" }, line: undefined },
];

for (const { name, env, line } of agents) {
  Deno.test(`planService() ${line === undefined ? "omits" : "records"} an ssh agent ${name}`, async () => {
    const it = machine({ env });
    await install(it);
    const found = (await lines(it, service)).find((text) => text.startsWith("Environment="));
    assert.equal(found, line);
  });
}

Deno.test("planService() records KUBECONFIG, which a service does not inherit", async () => {
  const env = { KUBECONFIG: "/home/me/50% of it:b" };
  const it = machine({ env });
  await install(it, { hasTimer: true });
  const line = 'Environment="KUBECONFIG=/home/me/50%% of it:/here/b"';
  assert.ok((await lines(it, service)).includes(line));
  assert.ok((await lines(it, service.replace("postern.service", "postern-update.service"))).includes(line));
  const { kubeconfigs } = await planService(it.world, { hasTimer: true });
  assert.equal(kubeconfigs, "/home/me/50% of it:/here/b");
  const mac = await planService(machine({ env, platform: "darwin" }).world, { hasTimer: true });
  for (const { content } of mac.files) {
    assert.match(content, /<key>KUBECONFIG<\/key>\n\s*<string>\/home\/me\/50% of it:\/here\/b<\/string>/);
  }
});

Deno.test("planService() records no KUBECONFIG that postern set for a program", async () => {
  const it = machine({ env: { KUBECONFIG: "/tmp/c-lab.kubeconfig", POSTERN_CLUSTER: "c-lab" } });
  await install(it);
  assert.ok(!(await lines(it, service)).some((line) => line.includes("KUBECONFIG")));
});

for (const mixed of ["127.0.0.1:0", undefined]) {
  Deno.test(`planService() refuses to start on demand on ${mixed ?? "only a unix socket"}`, async () => {
    const listen = mixed === undefined ? "unix: /tmp/s" : `mixed: ${mixed}`;
    const it = machine({ config: plain.replace("mixed: localhost:12000", listen) });
    await assert.rejects(install(it), { code: "config", message: /^Cannot start on demand: / });
    await install(it, { isAlways: true });
  });
}

Deno.test("planService() reports an instance that would not start", async () => {
  const it = machine({ files: {} });
  const { problem } = await planService(it.world, { hasTimer: false });
  assert.equal(problem?.code, "config");
});

Deno.test("installService() reports the error of systemd, and how to continue", async () => {
  const it = machine({
    answer: (command) =>
      command.includes("restart")
        ? { code: 1, stdout: "", stderr: "Job failed.\nSee journalctl.\n" }
        : { code: 0, stdout: "", stderr: "" },
  });
  await assert.rejects(install(it), {
    exit: 1,
    message: 'Cannot start the service: "systemctl --user restart postern.socket" failed: Job failed.',
    hint: /^the files are written; fix the cause, then run: systemctl --user daemon-reload; /,
  });
  assert.ok(await it.world.files.info(service));
});

Deno.test("installService() reports what to run without systemctl", async () => {
  const it = machine({
    answer: () => {
      throw new PosternError("config", 'Cannot run "systemctl": no such program');
    },
  });
  await install(it);
  assert.match(
    it.told.at(-1) ?? "",
    /^systemctl not found; on a system that has it, run: systemctl --user/,
  );
});

Deno.test("removeService() stops the service and removes only its files", async () => {
  const it = machine();
  await install(it, { hasTimer: true });
  it.world.files.put("/home/me/.config/systemd/user/other.service", "[Service]\n");
  it.ran.length = 0;
  await removeService(it.world, await planRemoval(it.world), it.run);
  assert.deepEqual(it.ran, [
    "systemctl --user disable --now postern.socket postern.service postern-update.timer postern-update.service",
    "systemctl --user daemon-reload",
  ]);
  assert.deepEqual(await it.world.files.list("/home/me/.config/systemd/user"), ["other.service"]);
  assert.deepEqual((await planRemoval(it.world)).removed, []);
});

Deno.test("serviceStates() returns the states from systemd", async () => {
  const it = machine({
    answer: (command) => ({
      code: 0,
      stdout: command.includes("is-enabled") ? "static\n" : "inactive\n",
      stderr: "",
    }),
  });
  await install(it, { isAlways: true });
  assert.deepEqual(await serviceStates(it.world, { signal }), [
    { name: "postern.service", path: service, enabled: "static", active: "inactive" },
  ]);
});

Deno.test("planService() on macOS creates a launchd agent that always runs", async () => {
  const it = machine({ platform: "darwin" });
  await install(it);
  const path = "/home/me/Library/LaunchAgents/local.postern.proxy.plist";
  const text = await it.world.files.readText(path);
  for (const key of ["KeepAlive", "LimitLoadToSessionType", "ProcessType", "StandardErrorPath"]) {
    assert.match(text, new RegExp(`<key>${key}</key>`));
  }
  assert.deepEqual(it.ran, [`launchctl bootstrap gui/1000 ${path}`]);
  await removeService(it.world, await planRemoval(it.world), it.run);
  assert.equal(it.ran.at(-1), "launchctl bootout gui/1000/local.postern.proxy");
});

Deno.test("planService() on macOS on demand passes one IPv4 socket", async () => {
  const it = machine({ platform: "darwin" });
  const { files } = await planService(it.world, { hasTimer: false, isAlways: false });
  const content = files[0]?.content ?? assert.fail("no file");
  assert.match(content, /<string>--on-demand=launchd=proxy<\/string>/);
  assert.match(content, /<key>SockNodeName<\/key>\s*<string>127\.0\.0\.1<\/string>/);
  const two = machine({
    platform: "darwin",
    config: plain.replace("localhost", "'[::1]'").replace("'[::1]':12000", "'[::1]:12000'"),
  });
  await assert.rejects(planService(two.world, { hasTimer: false, isAlways: false }), /one IPv4 socket/);
});

Deno.test("planService() refuses Windows", async () => {
  const it = machine({ platform: "windows" });
  await assert.rejects(planService(it.world, { hasTimer: false }), { code: "usage", exit: 1 });
});
