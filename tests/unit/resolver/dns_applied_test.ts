import assert from "node:assert/strict";
import { readConfig } from "../../../src/plan/mod.ts";
import {
  appliedDelegation,
  appliedDnsFiles,
  applyCommand,
  applyDns,
  cleanUp,
  dnsSystemFiles,
  nrptCommands,
  repairDns,
  undoDns,
} from "../../../src/resolver/mod.ts";
import { dnsMark } from "../../../src/resolver/dns_system.ts";
import { PosternError } from "../../../src/words/mod.ts";
import type { World } from "../../../src/world/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { recordingLog } from "../../support/recording_log.ts";

const { signal } = new AbortController();
const server = { host: "127.0.0.1", port: 1053 };
const delegation = { server, domains: ["corp.example", "svc"] };
const dropIn = "/etc/systemd/resolved.conf.d/postern.conf";
const delegate = "/etc/systemd/dns-delegate.d/postern.dns-delegate";

/** A machine with or without systemd; records every command. */
function machine({ version = 252, platform = "linux" as World["process"]["platform"], code = 0 } = {}) {
  const world = new MemoryWorld({ platform });
  const ran: string[] = [];
  world.process.run = (command) => {
    ran.push(command.join(" "));
    if (version === 0) {
      return Promise.reject(new PosternError("config", "Cannot run systemctl: no such program"));
    }
    return Promise.resolve({
      code,
      stdout: `systemd ${version} (${version}.1)\n+PAM\n`,
      stderr: code ? "it failed\n" : "",
    });
  };
  return { world, ran };
}

for (
  const { name, version, platform, paths, restarts } of [
    { name: "systemd 252", version: 252, paths: [dropIn], restarts: true },
    { name: "systemd 258", version: 258, paths: [delegate], restarts: true },
    {
      name: "macOS",
      platform: "darwin",
      paths: ["/etc/resolver/corp.example", "/etc/resolver/svc"],
      restarts: false,
    },
  ] as const
) {
  Deno.test(`applyDns() and undoDns() do what ${name} needs, and undo it`, async () => {
    const { world, ran } = machine({ version: version ?? 0, platform: platform ?? "linux" });
    assert.deepEqual(await applyDns(world, delegation, { signal }), { written: paths, removed: [] });
    assert.deepEqual(appliedDelegation(await appliedDnsFiles(world)), delegation);
    const restart = "systemctl try-reload-or-restart systemd-resolved.service";
    assert.equal(ran.includes(restart), restarts);
    ran.length = 0;
    assert.deepEqual(await applyDns(world, delegation, { signal }), { written: [], removed: [] });
    assert.equal(ran.includes(restart), false, "nothing changed");
    assert.deepEqual(await undoDns(world, { signal }), { written: [], removed: paths });
    assert.equal(ran.includes(restart), restarts);
    assert.deepEqual(await appliedDnsFiles(world), []);
  });
}

Deno.test("applyDns() removes the file for an older systemd", async () => {
  const { world } = machine();
  await applyDns(world, delegation, { signal });
  world.process.run = machine({ version: 260 }).world.process.run;
  assert.deepEqual(await applyDns(world, delegation, { signal }), { written: [delegate], removed: [dropIn] });
});

Deno.test("applyDns() keeps the existing kind of file if it may not run systemctl", async () => {
  const { world } = machine({ version: 260 });
  await applyDns(world, delegation, { signal });
  world.process.run = machine({ version: 0 }).world.process.run;
  await assert.rejects(
    applyDns(world, { ...delegation, domains: ["other"] }, { signal }),
    /Cannot reload systemd-resolved/,
  );
  assert.deepEqual((await appliedDnsFiles(world)).map(({ path }) => path), [delegate]);
});

Deno.test("applyDns() writes its files without systemctl, and reports what to run", async () => {
  const { world } = machine({ version: 0 });
  await assert.rejects(
    applyDns(world, delegation, { signal }),
    (error) =>
      error instanceof PosternError && /Cannot reload systemd-resolved/.test(error.message) &&
      /the files are up to date; run: systemctl/.test(error.hint ?? ""),
  );
  assert.deepEqual(appliedDelegation(await appliedDnsFiles(world)), delegation);
  const failing = machine({ code: 1 }).world;
  await assert.rejects(applyDns(failing, delegation, { signal }), /systemd-resolved: it failed$/);
});

Deno.test("applyDns() changes neither another program's file nor Windows", async () => {
  const { world } = machine();
  world.files.put(dropIn, "[Resolve]\n");
  await assert.rejects(applyDns(world, delegation, { signal }), /postern did not write the existing file/);
  assert.deepEqual(await undoDns(world, { signal }), { written: [], removed: [] });
  assert.equal(await world.files.readText(dropIn), "[Resolve]\n");
  await assert.rejects(
    applyDns(machine({ platform: "windows" }).world, delegation, { signal }),
    /only prints them/,
  );
});

Deno.test("nrptCommands() needs port 53", () => {
  assert.throws(() => nrptCommands(delegation), /port 1053/);
  const { make, undo } = nrptCommands({ ...delegation, server: { ...server, port: 53 } });
  assert.match(
    make.join(),
    /-Namespace "corp\.example","\.corp\.example","svc","\.svc" -NameServers "127\.0\.0\.1"/,
  );
  assert.match(undo.join(), /Remove-DnsClientNrptRule/);
});

Deno.test("applyCommand() needs no configuration", () => {
  const six = { ...delegation, server: { host: "::1", port: 53 } };
  assert.equal(
    applyCommand(six),
    "sudo postern dns --apply --server [::1]:53 --domain corp.example --domain svc",
  );
});

Deno.test("cleanUp() removes only files that name a dead server", async () => {
  const { world } = machine();
  await applyDns(world, delegation, { signal });
  const listening = world.network.listen(server);
  assert.deepEqual(await cleanUp(world, { signal }), { written: [], removed: [] });
  listening.close();
  assert.deepEqual(await cleanUp(world, { signal }), { written: [], removed: [dropIn] });
});

Deno.test("repairDns() repairs files of an earlier instance, or reports what to run", async () => {
  const { world } = machine();
  const log = recordingLog();
  const repair = (delegation: Parameters<typeof repairDns>[1]) =>
    repairDns(world, delegation, { log, signal });
  await repair(delegation);
  assert.deepEqual(await appliedDnsFiles(world), [], "nothing was applied before");
  await applyDns(world, delegation, { signal });
  await repair({ ...delegation, domains: ["svc", "corp.example"] });
  assert.deepEqual(log.lines, [], "the same in another order");
  const moved = { server: { ...server, port: 1054 }, domains: ["corp.example"] };
  await using other = world.network.listen(server);
  await repair(moved);
  assert.deepEqual(
    appliedDelegation(await appliedDnsFiles(world)),
    delegation,
    "the files belong to another instance",
  );
  other.close();
  await repair(moved);
  assert.deepEqual(appliedDelegation(await appliedDnsFiles(world)), moved);
  const denied = new PosternError("not_allowed", "Cannot write: permission denied");
  const { remove } = world.files;
  world.files.remove = () => Promise.reject(denied);
  await repair(undefined);
  world.files.remove = remove;
  assert.deepEqual(log.lines.map(({ event, hint }) => ({ event, hint })), [
    { event: "dns.system_repaired", hint: undefined },
    { event: "dns.system_stale", hint: "run: sudo postern cleanup" },
  ]);
  await repair(undefined);
  assert.deepEqual(await appliedDnsFiles(world), []);
});

Deno.test("appliedDnsFiles() finds the incomplete files of a killed apply", async () => {
  const { world } = machine();
  const half = `${dropIn}.0123abcd.tmp`;
  world.files.put(half, dnsMark.slice(0, 10));
  world.files.put("/etc/resolver/corp.example.89abcdef.tmp", "");
  world.files.put("/etc/resolver/mine.0123abcd.tmp", "nameserver 10.0.0.1\n");
  const found = (await appliedDnsFiles(world)).map(({ path }) => path);
  assert.deepEqual(found, [half, "/etc/resolver/corp.example.89abcdef.tmp"]);
  assert.deepEqual((await undoDns(world, { signal })).removed, found);
});

Deno.test("dnsSystemFiles() writes IPv6 servers in systemd's syntax", () => {
  const [file] = dnsSystemFiles("systemd-resolved", { server: { host: "::1", port: 53 }, domains: ["a"] });
  assert.equal(file?.content, `${dnsMark}\n[Resolve]\nDNS=[::1]:53\nDomains=~a\n`);
});

for (
  const { text, says } of [
    { text: "listen: { dns: 192.0.2.1:53 }", says: /listen\.dns: must be a loopback address/ },
    { text: "listen: { allowOpen: true, dns: 0.0.0.0:53 }", says: /listen\.dns: must be a loopback address/ },
    { text: "listen: { dns: unix:/x }", says: /listen\.dns: must be an address with a port/ },
    {
      text: "listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:1 }",
      says: /listen\.dns: must be a free address/,
    },
    { text: "dns: { domains: [a..b] }", says: /dns\.domains\[0\]: must be a domain/ },
    { text: "dns: { domains: 10.0.0.1 }", says: /dns\.domains: must be a domain/ },
    {
      text: "dns: { fakeRange: fd00::/64 }",
      says: /dns\.fakeRange: must be an unused IPv4 network from \/8 to \/28/,
    },
    {
      text: "dns: { fakeRange: 198.18.3.0/15 }",
      says: /warning: dns\.fakeRange: has bits beyond its prefix/,
    },
    {
      text: "dns: { domains: corp.example }",
      says: /warning: dns\.domains: has no addresses for its answers/,
    },
    {
      text: "listen: { dns: 127.0.0.1:53 }\ndns: { loopback: 127.64.0.0/12, ports: [5432] }",
      says: /^$/,
    },
    {
      text: "listen: { dns: 127.0.0.1:53, auth: { users: [{ name: me, passwordFile: /p }] } }\n" +
        "dns: { loopback: 127.64.0.0/12 }",
      says: /warning: dns\.loopback: has no passwords, unlike listen\.auth: any local user/,
    },
    {
      text: "dns: { loopback: 127.64.0.0/12 }",
      says: /warning: dns\.loopback: has no effect without a DNS server: set listen\.dns/,
    },
    {
      text: "dns: { ports: 5432 }",
      says: /warning: dns\.ports: has no effect without dns\.loopback/,
    },
    {
      text: "dns: { loopback: 10.64.0.0/12 }",
      says: /dns\.loopback: must be in 127\.0\.0\.0\/8, such as 127\.64\.0\.0\/12/,
    },
    {
      text: "dns: { loopback: 127.0.0.0/12 }",
      says: /dns\.loopback: must not contain addresses of 127\.0\.0\.0\/16, such as 127\.0\.0\.1 and/,
    },
    { text: "dns: { loopback: 127.0.0.0/8 }", says: /dns\.loopback: must / },
    { text: "dns: { loopback: 127.64.0.0/30 }", says: /dns\.loopback: must be an IPv4 network from/ },
    {
      text: "dns: { loopback: 127.64.0.0/12, fakeRange: 127.65.0.0/16 }",
      says: /dns\.loopback: must not overlap dns\.fakeRange/,
    },
    { text: "dns: { loopback: 127.64.0.0/12, idle: 1s }", says: /dns\.idle/ },
    { text: "dns: { loopback: 127.64.0.0/12, ports: [0] }", says: /dns\.ports/ },
    { text: "dns: { domains: .Corp.example., fakeRange: 198.18.0.0/15 }", says: /^$/ },
  ]
) {
  Deno.test(`readConfig() reports the problem of "${text}"`, async () => {
    const { errors, warnings } = await readConfig(new MemoryWorld(), { text });
    assert.match([...errors, ...warnings].join("\n"), says);
  });
}
