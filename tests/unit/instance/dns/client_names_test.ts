import assert from "node:assert/strict";
import { encodeSocks4Request, encodeSocks5Request, socks5Commands } from "../../../../src/wire/mod.ts";
import { bytesOf } from "../../../support/fake_dial.ts";
import { readAll } from "../../../support/memory_conn.ts";
import { settle } from "../../../support/fake_clock.ts";
import { toHex } from "../../../support/hex.ts";
import { startInstance } from "../../../support/memory_instance.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const { resolve, resolvePtr } = socks5Commands;
const { signal } = new AbortController();
const refused = (code: number) => `050${code}0001000000000000`;

const text = `
listen: { mixed: 127.0.0.1:1, socks: { address: 127.0.0.1:2, only: [only.example:22, 192.0.2.0/24] } }
transports:
  up: { proxy: { url: "socks5h://127.0.0.1:9" } }
  no: { reject: "Not here" }
routes:
  - { to: [corp.example, "db.example:5432", 10.0.0.0/8], via: up }
  - { to: [no.example], via: no }
`;

function worldOf(config = text): MemoryWorld {
  const world = new MemoryWorld({ files: { "/config/config.yaml": config } });
  world.network.names.set("www.example", ["2001:db8::1", "192.0.2.7"]);
  world.network.names.set("six.example", ["2001:db8::6"]);
  world.network.names.set("only.example", ["192.0.2.8"]);
  world.network.namesOf.set("192.0.2.7", "seven.example");
  return world;
}

/** Sends a request to the listener at a port and returns its reply, in hexadecimal. */
async function ask(world: MemoryWorld, request: Uint8Array<ArrayBuffer>, port = 1): Promise<string> {
  const conn = await world.network.connect({ host: "127.0.0.1", port }, { signal });
  await conn.write(request);
  const reply = toHex(await readAll(conn));
  await conn[Symbol.asyncDispose]();
  return reply;
}

async function lookUp(world: MemoryWorld, command: number, host: string, port = 1): Promise<string> {
  const request = encodeSocks5Request({ command, target: { host, port: 0 } });
  const reply = await ask(world, Uint8Array.of(5, 1, 0, ...request), port);
  assert.equal(reply.slice(0, 4), "0500");
  return reply.slice(4);
}

const found = (hex: string) => `05000001${hex}0000`;

const lookups = [
  ["a direct name, as IPv4", "www.example", found("c0000207")],
  ["a direct name with IPv6 only", "six.example", "0500000420010db80000000000000000000000060000"],
  ["an IPv4 address", "192.0.2.1", found("c0000201")],
  ["an IPv6 address", "::1", "05000004000000000000000000000000000000010000"],
  ["a routed name", "Web.Corp.Example", found("fdc60001")],
  ["a name that is routed at one port", "db.example", found("fdc60001")],
  ["an unknown name", "gone.example", refused(4)],
  ["a rejected name", "no.example", refused(2)],
] as const;

for (const [what, host, reply] of lookups) {
  Deno.test(`RESOLVE answers ${what}, and asks the system's resolver only for direct names`, async () => {
    const world = worldOf();
    const instance = await startInstance(world);
    const got = await lookUp(world, resolve, host);
    assert.equal(got, reply);
    const isAsked = ["www.example", "six.example", "gone.example"].includes(host);
    assert.deepEqual(world.network.lookups, isAsked ? [host] : []);
    world.kill("SIGTERM");
    await instance.ended;
    assert.equal(world.clock.waiting, 0);
  });
}

Deno.test("RESOLVE refuses names that a cluster may own while the cluster is unknown", async () => {
  const world = worldOf(`
listen: { mixed: 127.0.0.1:1 }
transports: { lab: { kubernetes: { kubeconfig: /missing } } }
routes: [{ to: [<services>, <clusterips>], via: lab }]
`);
  const instance = await startInstance(world);
  assert.equal(await lookUp(world, resolve, "web.shop"), refused(1));
  assert.equal(await lookUp(world, resolvePtr, "10.96.0.1"), refused(1));
  assert.deepEqual(world.network.lookups, []);
  const told = instance.lines.filter(({ event }) => event === "client.refused");
  assert.match(`${told[0]?.["reason"]}`, /web\.shop.* may belong to/);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("a name of the printed hosts file stays held while its cluster is unknown", async () => {
  const world = worldOf(`
listen: { mixed: 127.0.0.1:1, dns: 127.0.0.1:53 }
transports: { lab: { kubernetes: { kubeconfig: /missing } }, up: { proxy: { url: "socks5h://127.0.0.1:9" } } }
routes: [{ to: [<services>, <clusterips>], via: lab }]
default: up
dns: { loopback: 127.64.0.0/12 }
`);
  world.files.put("/etc/hosts", "127.64.0.1 web.shop # 80\n192.168.1.9 nas.shop\n");
  const instance = await startInstance(world);
  assert.equal(await lookUp(world, resolve, "web.shop"), refused(1));
  const connect = (host: string) =>
    ask(
      world,
      Uint8Array.of(
        5,
        1,
        0,
        ...encodeSocks5Request({ command: socks5Commands.connect, target: { host, port: 80 } }),
      ),
    );
  await connect("web.shop");
  // The user's own lines still say that a name is not the cluster's.
  await connect("nas.shop");
  assert.deepEqual(world.network.connects.filter((to) => to === "127.0.0.1:9").length, 1);
  world.kill("SIGTERM");
  await instance.ended;
});

for (const port of ["", ":443"]) {
  Deno.test(`RESOLVE_PTR names an address of this machine's networks although <clusterips>${port} is unknown`, async () => {
    const world = worldOf(`
listen: { mixed: 127.0.0.1:1 }
transports: { lab: { kubernetes: { kubeconfig: /missing } } }
routes: [{ to: ["<services>${port}", "<clusterips>${port}"], via: lab }]
`);
    Object.assign(world.network, { attached: () => [{ name: "eth0", address: "10.1.2.9", bits: 24 }] });
    world.network.namesOf.set("10.1.2.7", "own.example");
    const instance = await startInstance(world);
    assert.equal(await lookUp(world, resolvePtr, "10.1.2.7"), `05000003${named("own.example")}`);
    assert.equal(await lookUp(world, resolvePtr, "10.96.0.1"), refused(1));
    assert.equal(await lookUp(world, resolve, "web.shop"), refused(1));
    assert.deepEqual(world.network.lookups, []);
    world.kill("SIGTERM");
    await instance.ended;
  });
}

Deno.test("RESOLVE and RESOLVE_PTR obey `only` of the listener", async () => {
  const world = worldOf();
  const instance = await startInstance(world);
  assert.equal(await lookUp(world, resolve, "only.example", 2), found("c0000208"));
  assert.equal(await lookUp(world, resolvePtr, "192.0.2.7", 2), `05000003${named("seven.example")}`);
  for (const host of ["www.example", "web.corp.example"]) {
    assert.equal(await lookUp(world, resolve, host, 2), refused(2));
  }
  assert.equal(await lookUp(world, resolvePtr, "198.51.100.1", 2), refused(2));
  assert.equal(await lookUp(world, resolve, "web.corp.example"), found("fdc60001"));
  assert.equal(await lookUp(world, resolvePtr, "253.198.0.1", 2), refused(2));
  assert.deepEqual(world.network.lookups, ["only.example"]);
  world.kill("SIGTERM");
  await instance.ended;
});

const named = (name: string) => `${name.length.toString(16).padStart(2, "0")}${toHex(bytesOf(name))}0000`;

Deno.test("RESOLVE_PTR names the addresses of lookups, direct addresses and no routed ones", async () => {
  const world = worldOf();
  const instance = await startInstance(world);
  await lookUp(world, resolve, "web.corp.example");
  assert.equal(await lookUp(world, resolvePtr, "253.198.0.1"), `05000003${named("web.corp.example")}`);
  assert.equal(await lookUp(world, resolvePtr, "192.0.2.7"), `05000003${named("seven.example")}`);
  assert.equal(await lookUp(world, resolvePtr, "10.1.2.3"), refused(4));
  assert.equal(await lookUp(world, resolvePtr, "www.example"), refused(8));
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("RESOLVE of SOCKS4a answers IPv4 only", async () => {
  const world = worldOf();
  const instance = await startInstance(world);
  const request = (host: string) =>
    encodeSocks4Request({ command: 0xf0, target: { host, port: 0 }, user: "" });
  assert.equal(await ask(world, request("www.example")), "005a0000c0000207");
  assert.equal(await ask(world, request("web.corp.example")), "005a0000fdc60001");
  assert.equal(await ask(world, request("six.example")), "005b000000000000");
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("an address of a lookup reaches its name, also after a restart", async () => {
  const world = worldOf();
  let instance = await startInstance(world);
  const dial = async (address: string) => {
    await ask(
      world,
      Uint8Array.of(5, 1, 0, ...encodeSocks5Request({ command: 1, target: { host: address, port: 80 } })),
    );
    return instance.lines.findLast(({ event }) => event === "conn.done");
  };
  // An unassigned address has no meaning; the cluster may own an address of 240.0.0.0/4.
  assert.equal((await dial("253.198.0.1"))?.["target"], "253.198.0.1:80");
  await lookUp(world, resolve, "web.corp.example");
  for (const _ of [1, 2]) {
    const line = await dial("253.198.0.1");
    assert.deepEqual([line?.["target"], line?.["transport"]], ["web.corp.example:80", "up"]);
    assert.match(`${line?.["because"]}`, /requested as 253\.198\.0\.1/);
    world.kill("SIGTERM");
    await instance.ended;
    instance = await startInstance(world);
  }
  assert.equal(await lookUp(world, resolve, "two.corp.example"), found("fdc60002"));
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("RESOLVE uses dns.fakeRange where it is set", async () => {
  const world = worldOf(`${text}\ndns: { fakeRange: 198.18.0.0/15 }\n`);
  const instance = await startInstance(world);
  assert.equal(await lookUp(world, resolve, "web.corp.example"), found("c6120001"));
  assert.equal(await lookUp(world, resolvePtr, "198.18.0.2"), refused(4));
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("RESOLVE ends after limits.dial, and when the client leaves", async () => {
  const world = worldOf();
  world.network.lookup = (_name, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const instance = await startInstance(world);
  const late = lookUp(world, resolve, "www.example");
  await settle();
  await world.clock.advance(23_000);
  assert.equal(await late, refused(6));
  const conn = await world.network.connect({ host: "127.0.0.1", port: 1 }, { signal });
  await conn.write(
    Uint8Array.of(
      5,
      1,
      0,
      ...encodeSocks5Request({ command: resolve, target: { host: "www.example", port: 0 } }),
    ),
  );
  await settle();
  await world.clock.advance(1_200);
  conn.abort();
  await settle();
  assert.match(
    `${instance.lines.findLast(({ event }) => event === "client.refused")?.["reason"]}`,
    /client closed/,
  );
  world.kill("SIGTERM");
  await instance.ended;
  assert.equal(world.clock.waiting, 0);
});
