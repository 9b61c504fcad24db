import assert from "node:assert/strict";
import { doctor, type Finding } from "../../../src/doctor/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const { signal } = new AbortController();
const path = "/config/config.yaml";
const basic = "listen: { mixed: [127.0.0.1:1, 127.0.0.1:2] }\n";

async function findings(world: MemoryWorld, id = "default", version = "1.2.3"): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of doctor(world, { id, version }, { signal })) found.push(finding);
  return found;
}

/** `name: state` of each finding. */
const brief = (found: readonly Finding[]) => found.map(({ name, state }) => `${name}: ${state}`);
const detail = (found: readonly Finding[], name: string) =>
  found.filter((one) => one.name === name).map((one) => one.detail).join("\n");

Deno.test("doctor() finds no problem in a valid setup", async () => {
  const found = await findings(new MemoryWorld({ files: { [path]: basic } }));
  assert.deepEqual(brief(found), [
    "configuration: ok",
    "directory for sockets: ok",
    'instance "default": skipped',
    "address 127.0.0.1:1: ok",
    "address 127.0.0.1:2: ok",
    "proxy variables: ok",
    "clock: ok",
  ]);
});

Deno.test("doctor() distinguishes the ports of the running instance from other ports", async () => {
  const world = new MemoryWorld({ files: { [path]: "listen: { mixed: 127.0.0.1:1 }\n" } });
  const instance = await startInstance(world);
  world.network.listen({ host: "127.0.0.1", port: 2 });
  world.files.put(path, basic);
  const found = await findings(world);
  assert.equal(detail(found, "address 127.0.0.1:1"), "used by the running instance");
  assert.match(detail(found, "address 127.0.0.1:2"), /in use/);
  assert.match(detail(found, 'instance "default"'), /^ready, version 1\.2\.3, pid 4711/);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("doctor() reports that an instance runs an older version", async () => {
  const world = new MemoryWorld({ files: { [path]: "listen: { mixed: 127.0.0.1:1 }\n" } });
  const instance = await startInstance(world);
  const ofInstance = (found: readonly Finding[]) => found.find(({ name }) => name === 'instance "default"');
  assert.deepEqual(ofInstance(await findings(world, "default", "1.3.0")), {
    name: 'instance "default"',
    state: "warning",
    detail: "ready, version 1.2.3, pid 4711",
    hint: "restart the instance to run version 1.3.0",
  });
  assert.equal(ofInstance(await findings(world))?.state, "ok");
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("doctor() names another instance that uses a port", async () => {
  const locks = { "/run/me": "", "/run/me/default.lock": "" };
  const world = new MemoryWorld({ files: { [path]: "listen: { mixed: 127.0.0.1:1 }\n", ...locks } });
  const instance = await startInstance(world);
  const message = "Cannot listen on 127.0.0.1:1: address already in use";
  world.network.listen = () => {
    throw new PosternError("config", message, { detail: "in_use" });
  };
  const found = await findings(world, "work");
  const [taken] = found.filter(({ name }) => name === "address 127.0.0.1:1");
  assert.match(taken?.hint ?? "", /stop instance "default" \(pid 4711\), which listens there/);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("doctor() returns exit code 4 if the configuration cannot be read", async () => {
  const found = await findings(new MemoryWorld({ env: { POSTERN_CONFIG: "/gone.yaml" } }));
  assert.deepEqual(found.filter(({ exit }) => exit !== undefined).map(({ name, exit }) => [name, exit]), [
    ["configuration", 4],
  ]);
});

const troubles = [
  {
    name: "a broken configuration",
    prepare: (world: MemoryWorld) => world.files.put(path, "listen: [\n"),
    failed: ["configuration"],
  },
  {
    name: "a configuration that cannot be read",
    prepare: (world: MemoryWorld) => {
      world.env["POSTERN_CONFIG"] = "/gone.yaml";
    },
    failed: ["configuration"],
  },
  {
    name: "a missing password file",
    prepare: (world: MemoryWorld) =>
      world.files.put(path, "listen: { auth: { users: [{ name: a, passwordFile: /pw }] } }\n"),
    failed: ["configuration"],
  },
  {
    name: "a directory that belongs to another user",
    prepare: (world: MemoryWorld) => {
      world.files.privateDirectory = () => Promise.reject(new PosternError("config", "Cannot use it"));
    },
    failed: ["directory for sockets"],
  },
  {
    name: "a control socket without access",
    prepare: (world: MemoryWorld) => {
      world.files.put("/run/me/default.sock", "");
      world.network.faults.set("/run/me/default.sock", new PosternError("not_allowed", "Cannot connect"));
    },
    failed: ['instance "default"'],
  },
  {
    name: "a wrong clock",
    prepare: (world: MemoryWorld) => world.clock.jumpDate(-40 * 365 * 86_400_000),
    failed: ["clock"],
  },
];
for (const { name, prepare, failed } of troubles) {
  Deno.test(`doctor() continues after ${name}`, async () => {
    const world = new MemoryWorld({ files: { [path]: basic } });
    prepare(world);
    const found = await findings(world);
    assert.deepEqual(found.filter(({ state }) => state === "failed").map(({ name }) => name), failed);
    assert.equal(found.at(-1)?.name, "clock");
  });
}

Deno.test("doctor() reports an invalid id as a finding", async () => {
  const found = await findings(new MemoryWorld({ files: { [path]: basic } }), "a/b");
  assert.match(detail(found, 'instance "a/b"'), /Cannot use "a\/b" as the id/);
});

Deno.test("doctor() shows the targets of proxy variables, without passwords", async () => {
  const env = { http_proxy: "http://me:secret@proxy.example:3128", ALL_PROXY: "::nonsense::" };
  const found = await findings(new MemoryWorld({ files: { [path]: basic }, env }));
  assert.match(
    detail(found, "proxy variables"),
    /^http_proxy names proxy\.example:3128, which is not this instance\nALL_PROXY is not a URL$/,
  );
  assert.ok(!JSON.stringify(found).includes("secret"));
});

const leads = [
  { listen: "127.0.0.1:80", value: "http://127.0.0.1", isOurs: true },
  { listen: "127.0.0.1:80", value: "http://localhost:80", isOurs: true },
  { listen: "127.0.0.1:1080", value: "socks5://127.0.0.1", isOurs: true },
  { listen: "'[::1]:12000'", value: "http://[::1]:12000", isOurs: true },
  { listen: "127.0.0.1:12000", value: "127.0.0.1:12000", isOurs: true },
  { listen: "127.0.0.1:12000", value: "http://proxy.example:12000", isOurs: false },
  { listen: "127.0.0.1:12000", value: "http://127.0.0.1:12001", isOurs: false },
];
for (const { listen, value, isOurs } of leads) {
  Deno.test(`doctor() recognizes whether ${value} is the instance on ${listen}`, async () => {
    const files = { [path]: `listen: { mixed: ${listen} }\n` };
    const world = new MemoryWorld({ files, env: { http_proxy: value } });
    const instance = await startInstance(world);
    assert.equal(detail(await findings(world), "proxy variables").endsWith("names this instance"), isOurs);
    world.kill("SIGTERM");
    await instance.ended;
  });
}

Deno.test("doctor() checks a DNS port for UDP and TCP, and files with a dead DNS server", async () => {
  const resolved = "/etc/systemd/resolved.conf.d/postern.conf";
  const applied = "# Written by postern dns --apply. postern dns --undo takes it away.\n" +
    "[Resolve]\nDNS=127.0.0.1:53\nDomains=~corp.example\n";
  const files = {
    [path]: `listen: { mixed: 127.0.0.1:1, dns: [127.0.0.1:53, 127.0.0.1:54] }\n`,
    [resolved]: applied,
  };
  const world = new MemoryWorld({ files });
  await using _udp = await world.network.datagrams({ host: "127.0.0.1", port: 54 });
  const found = await findings(world);
  assert.equal(detail(found, "DNS on 127.0.0.1:53"), "free for UDP and TCP");
  assert.match(detail(found, "DNS on 127.0.0.1:54"), /127\.0\.0\.1:54 for UDP: address in use/);
  assert.equal(
    detail(found, "system's DNS"),
    `${resolved} sends queries to 127.0.0.1:53, which does not answer`,
  );
  const instance = await startInstance(world, { config: path }).catch((error) => error);
  assert(
    instance instanceof PosternError && /for UDP/.test(instance.message),
    "the same problem prevents an instance from starting",
  );
  world.files.put(path, "listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:53 }\ndefault: direct\n");
  const running = await startInstance(world, { config: path });
  const later = await findings(world);
  assert.equal(detail(later, "DNS on 127.0.0.1:53"), "used by the running instance");
  assert.equal(detail(later, "system's DNS"), `${resolved} sends 1 domain to 127.0.0.1:53`);
  world.kill("SIGTERM");
  await running.ended;
});
