import assert from "node:assert/strict";
import { Surroundings } from "../../../../src/plan/clusters/surroundings.ts";
import type { AttachedNetwork } from "../../../../src/world/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";

const { signal } = new AbortController();

interface Options {
  readonly hosts?: string;
  readonly attached?: readonly AttachedNetwork[];
  readonly readTextIfThere?: () => Promise<string | undefined>;
}

async function lookedAt({ hosts, attached = [], readTextIfThere }: Options): Promise<Surroundings> {
  const files = new MemoryFiles();
  if (hosts !== undefined) await files.replace("/etc/hosts", hosts);
  const here = new Surroundings({
    isNamed: () => false,
    files: readTextIfThere ? { readTextIfThere } : files,
    network: { attached: () => attached },
    process: { hostName: "Desk.example.net", platform: "linux" },
    places: {},
    now: () => 0,
  });
  await here.look({ signal });
  return here;
}

const networks: readonly { name: string; attached: AttachedNetwork; host: string; isHere: boolean }[] = [
  {
    name: "a network at home",
    attached: { name: "wlan0", address: "192.168.1.7", bits: 24 },
    host: "192.168.1.99",
    isHere: true,
  },
  {
    name: "the last of 4,094 hosts",
    attached: { name: "eth0", address: "10.1.16.7", bits: 20 },
    host: "10.1.31.254",
    isHere: true,
  },
  {
    name: "an address next to it",
    attached: { name: "eth0", address: "10.1.16.7", bits: 20 },
    host: "10.1.32.1",
    isHere: false,
  },
  {
    name: "a larger network",
    attached: { name: "docker0", address: "172.17.0.1", bits: 16 },
    host: "172.17.0.2",
    isHere: false,
  },
  {
    name: "a tunnel",
    attached: { name: "tun0", address: "10.8.0.2", bits: 24 },
    host: "10.8.0.1",
    isHere: false,
  },
  {
    name: "a tunnel of macOS",
    attached: { name: "utun3", address: "10.8.0.2", bits: 24 },
    host: "10.8.0.1",
    isHere: false,
  },
  {
    name: "WireGuard",
    attached: { name: "wg0", address: "10.8.0.2", bits: 24 },
    host: "10.8.0.1",
    isHere: false,
  },
  {
    name: "IPv4 written as IPv6",
    attached: { name: "en0", address: "192.168.1.7", bits: 24 },
    host: "::ffff:192.168.1.9",
    isHere: true,
  },
  {
    name: "IPv6",
    attached: { name: "en0", address: "fd00:1::7", bits: 64 },
    host: "fd00:1::9",
    isHere: true,
  },
  {
    name: "a large network of IPv6",
    attached: { name: "en0", address: "fd00:1::7", bits: 48 },
    host: "fd00:1::9",
    isHere: false,
  },
];

for (const { name, attached, host, isHere } of networks) {
  Deno.test(`Surroundings.has() ${isHere ? "knows" : "does not know"} ${host}: ${name}`, async () => {
    assert.equal((await lookedAt({ attached: [attached] })).has(host), isHere);
  });
}

Deno.test("Surroundings.has() matches this machine's names and those of its hosts file, in any spelling", async () => {
  const here = await lookedAt({
    hosts: "127.0.0.1 localhost\n# 10.0.0.1 commented\n10.1.2.3\tdb.dev  Printer\nbroken line\n",
  });
  const known = ["desk", "DESK.example.net.", "db.dev", "printer"];
  assert.deepEqual(known.filter((host) => !here.has(host)), []);
  assert.deepEqual(["commented", "line", "web.dev"].filter((host) => here.has(host)), []);
});

Deno.test("Surroundings.look() ignores a missing or unreadable hosts file", async () => {
  assert.equal((await lookedAt({})).has("desk"), true);
  const readTextIfThere = () => Promise.reject(new PosternError("not_allowed", "Cannot read /etc/hosts"));
  assert.equal((await lookedAt({ readTextIfThere })).has("desk"), true);
});
