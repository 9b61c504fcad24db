import assert from "node:assert/strict";
import type { FarName, FarNames, FarTables, Transport } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { NamesSettings } from "../../../../src/konnectivity/client/konnectivity_settings.ts";
import { TargetNames, type Way } from "../../../../src/konnectivity/client/target_names.ts";
import { DnsServer } from "../../../support/dns_server.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";

const { signal } = new AbortController();

const usual: NamesSettings = {
  services: "lab",
  guestDNS: false,
  guestDNSService: { namespace: "openshift-dns", name: "dns-default" },
  managementDNS: false,
  cloudDirect: false,
  otherwise: "agent",
  preferIPv4: false,
};

/** Everything that a name may be asked of. */
class Lab implements AsyncDisposable {
  readonly network = new MemoryNetwork();
  readonly clock = new FakeClock();
  readonly services = new Map<string, FarName | PosternError | "silent">([
    ["web.shop", { addresses: ["10.96.1.1", "fd00::1"] }],
    ["dns-default.openshift-dns.svc", { addresses: ["10.96.0.10"] }],
    ["headless.shop.svc", { addresses: [] }],
    ["olm.svc", { addresses: [] }],
    ["out.shop.svc", { addresses: [], alias: "www.Elsewhere.example." }],
    ["round.shop.svc", { addresses: [], alias: "round.shop.svc" }],
    ["hop.shop.svc", { addresses: [], alias: "web.shop" }],
  ]);
  /** What the API was asked for, and what was held of it. */
  readonly asked: string[] = [];
  held: PosternError | undefined;
  holds = 0;
  readonly dns = new DnsServer(this.network.listen({ host: "10.96.0.10", port: 53 }), {
    "www.elsewhere.example": { addresses: ["192.0.2.7"] },
    "both.example": { addresses: ["192.0.2.1", "2001:db8::1", "192.0.2.2"] },
    "headless.shop.svc": { addresses: ["10.128.0.5"] },
    "db.internal": { addresses: ["10.0.0.5"] },
  });
  readonly dialled: string[] = [];
  readonly steps: string[] = [];
  readonly names: TargetNames;

  constructor(settings: Partial<NamesSettings> = {}) {
    this.network.names.set("www.elsewhere.example", ["198.51.100.7"]);
    this.network.names.set("only.here.example", ["198.51.100.8", "2001:db8::8"]);
    this.network.names.set("web.shop.svc.cluster.local", ["198.51.100.9"]);
    this.names = new TargetNames({ ...usual, ...settings }, {
      network: this.network,
      clock: this.clock,
      services: () => this.#transport(),
      dialAddress: (target, options) => {
        this.dialled.push(`${target.host}:${target.port}`);
        return this.network.connect(target, options);
      },
    });
  }

  #transport(): Transport {
    const names: FarNames = {
      find: async (name, { signal }) => {
        this.asked.push(name);
        signal.throwIfAborted();
        const said = this.services.get(name);
        if (said === "silent") {
          await new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
        }
        if (said instanceof PosternError) throw said;
        return said === "silent" ? undefined : said;
      },
      nameOf: () => undefined,
    };
    const tables: FarTables = {
      current: undefined,
      domain: undefined,
      isRecalled: true,
      recall: () => Promise.resolve(),
      follow: () => {
        this.holds++;
        return this.held ? Promise.reject(this.held) : Promise.resolve();
      },
      onChange: () => ({ [Symbol.dispose]: () => {} }),
    };
    return {
      name: "lab",
      names,
      tables,
      dial: () => Promise.reject(new Error("nobody goes there")),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  way(host: string, port = 443): Promise<Way> {
    return this.names.way({ host, port }, { signal, onStep: (step) => this.steps.push(step) });
  }

  /** The guest's DNS is not there, or there again. */
  cut(isCut = true): void {
    if (isCut) {
      this.network.faults.set("10.96.0.10:53", new PosternError("unreachable", "No agent available"));
    } else this.network.faults.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.names[Symbol.dispose]();
    await this.dns[Symbol.asyncDispose]();
  }
}

const far = (...hosts: string[]): Way => ({ from: "agent", hosts });
const here = (...hosts: string[]): Way => ({ from: "here", hosts });

const all = { guestDNS: true, managementDNS: true, cloudDirect: true } as const;

const cases: { name: string; settings?: Partial<NamesSettings>; host: string; way: Way }[] = [
  { name: "an address goes to the agent as it is", settings: all, host: "10.96.1.1", way: far("10.96.1.1") },
  { name: "an IPv6 address too", settings: all, host: "fd00::1", way: far("fd00::1") },
  {
    name: "a cloud's API is dialled from here",
    settings: all,
    host: "EC2.eu-west-1.AmazonAWS.com.",
    way: { from: "here" },
  },
  {
    name: "a cloud's API is like any other unless told",
    host: "sts.amazonaws.com",
    way: far("sts.amazonaws.com"),
  },
  {
    name: "the domain of a cloud itself is no API",
    settings: { ...all, guestDNS: false, managementDNS: false },
    host: "azure.com",
    way: far("azure.com"),
  },
  { name: "a Service has its addresses", host: "web.shop", way: far("10.96.1.1", "fd00::1") },
  {
    name: "a Service has its IPv4 address alone where that is wished",
    settings: { preferIPv4: true },
    host: "Web.Shop",
    way: far("10.96.1.1"),
  },
  { name: "an ExternalName is another Service", host: "hop.shop.svc", way: far("10.96.1.1", "fd00::1") },
  { name: "an ExternalName is a name of the agent", host: "out.shop.svc", way: far("www.elsewhere.example") },
  {
    name: "an ExternalName is a name of the cluster's DNS",
    settings: { guestDNS: true },
    host: "out.shop.svc",
    way: far("192.0.2.7"),
  },
  { name: "two labels that are no Service are the agent's", host: "db.internal", way: far("db.internal") },
  {
    name: "two labels that are no Service are the cluster's DNS's",
    settings: { guestDNS: true },
    host: "db.internal",
    way: far("10.0.0.5"),
  },
  {
    name: "a headless Service is the cluster's DNS's",
    settings: { guestDNS: true },
    host: "headless.shop.svc",
    way: far("10.128.0.5"),
  },
  { name: "one label is no Service", host: "web", way: far("web") },
  {
    name: "all answers are tried, the families taking turns",
    settings: { guestDNS: true },
    host: "both.example",
    way: far("192.0.2.1", "2001:db8::1", "192.0.2.2"),
  },
  {
    name: "IPv4 answers are tried alone where that is wished",
    settings: { guestDNS: true, preferIPv4: true },
    host: "both.example",
    way: far("192.0.2.1", "192.0.2.2"),
  },
  {
    name: "this machine resolves what is left, where it is told to",
    settings: { otherwise: "local" },
    host: "only.here.example",
    way: far("198.51.100.8", "2001:db8::8"),
  },
  {
    name: "a name that only this machine knows is dialled from here",
    settings: all,
    host: "only.here.example",
    way: here("198.51.100.8", "2001:db8::8"),
  },
  {
    name: "a DNS server may be named by its address",
    settings: { guestDNS: true, guestDNSService: { address: "10.96.0.10" } },
    host: "db.internal",
    way: far("10.0.0.5"),
  },
];

for (const { name, settings, host, way } of cases) {
  Deno.test(`TargetNames: ${name}`, async () => {
    await using lab = new Lab(settings);
    assert.deepEqual(await lab.way(host), way);
  });
}

const unknown: {
  name: string;
  settings?: Partial<NamesSettings>;
  host: string;
  port?: number;
  code: string;
  says: RegExp;
}[] = [
  {
    name: "a Service that is not there",
    host: "no.shop.svc",
    code: "name_not_found",
    says: /no such Service/,
  },
  {
    name: "a Service that is not there, however this machine would resolve it",
    settings: { otherwise: "local" },
    host: "web.shop.svc.cluster.local",
    code: "name_not_found",
    says: /no such Service/,
  },
  {
    name: "the same with all DNS there is",
    settings: all,
    host: "web.shop.svc.cluster.local",
    code: "name_not_found",
    says: /cluster's DNS knows no address/,
  },
  {
    name: "a headless Service without DNS",
    host: "headless.shop.svc",
    code: "name_not_found",
    says: /headless Service has those of its ready endpoints/,
  },
  { name: "a namespace", host: "olm.svc", code: "name_not_found", says: /no address belongs to it/ },
  {
    name: "ExternalNames that lead in a circle",
    host: "round.shop.svc",
    code: "name_not_found",
    says: /no address/,
  },
  {
    name: "a name that nobody knows",
    settings: all,
    host: "no.example",
    code: "name_not_found",
    says: /cluster's DNS knows no address.*; .*no such name/,
  },
  {
    name: "a DNS server that only this machine knows",
    settings: all,
    host: "only.here.example",
    port: 53,
    code: "name_not_found",
    says: /knows no address/,
  },
];

for (const { name, settings, host, port, code, says } of unknown) {
  Deno.test(`TargetNames does not know ${name}`, async () => {
    await using lab = new Lab(settings);
    await assert.rejects(lab.way(host, port), { code, message: says });
  });
}

Deno.test("TargetNames asks the API for names of two labels and more, and never for addresses and clouds", async () => {
  await using lab = new Lab({ cloudDirect: true });
  for (const host of ["10.0.0.1", "web", "sts.amazonaws.com", "web.shop", "a.b.c"]) await lab.way(host);
  assert.deepEqual(lab.asked, ["web.shop", "a.b.c"]);
});

Deno.test("TargetNames tells where it found a name", async () => {
  await using lab = new Lab(all);
  for (const host of ["web.shop", "db.internal", "only.here.example", "out.shop.svc"]) await lab.way(host);
  assert.deepEqual(lab.steps, [
    "found web.shop: 10.96.1.1, fd00::1 (its Service)",
    "found db.internal: 10.0.0.5 (the cluster's DNS)",
    "found only.here.example: 198.51.100.8, 2001:db8::8 (this machine's resolver, dialled from here)",
    "out.shop.svc is the ExternalName www.elsewhere.example",
    "found www.elsewhere.example: 192.0.2.7 (the cluster's DNS)",
  ]);
});

Deno.test("TargetNames goes on where the API cannot be asked, and tells of it where nobody else knows", async () => {
  await using lab = new Lab({ guestDNS: true, guestDNSService: { address: "10.96.0.10" } });
  lab.services.set("db.internal", new PosternError("unreachable", "The API is away", { hint: "start it" }));
  lab.services.set("no.shop.svc", new PosternError("unreachable", "The API is away", { hint: "start it" }));
  assert.deepEqual(await lab.way("db.internal"), far("10.0.0.5"));
  await assert.rejects(lab.way("no.shop.svc"), {
    code: "name_not_found",
    message: /The API is away; .*DNS/,
    hint: "start it",
  });
  await using without = new Lab();
  without.services.set("no.shop.svc", new PosternError("auth", "The API wants a token"));
  await assert.rejects(without.way("no.shop.svc"), { code: "unreachable", message: /wants a token/ });
});

Deno.test("TargetNames gives up an API that is silent after five seconds", async () => {
  await using lab = new Lab();
  lab.services.set("slow.internal", "silent");
  const way = lab.way("slow.internal");
  await lab.clock.advance(5000);
  assert.deepEqual(await way, far("slow.internal"));
});

Deno.test("TargetNames lets a client go that leaves while the API is asked", async () => {
  await using lab = new Lab();
  lab.services.set("slow.internal", "silent");
  const leaving = new AbortController();
  const way = lab.names.way({ host: "slow.internal", port: 1 }, { signal: leaving.signal });
  leaving.abort(new Error("left"));
  await assert.rejects(way, /left/);
});

Deno.test("TargetNames holds the whole cluster, or asks name by name for a while where it may not", async () => {
  await using lab = new Lab();
  lab.held = new PosternError("not_allowed", "Cannot list Services everywhere");
  assert.deepEqual(await lab.way("web.shop"), far("10.96.1.1", "fd00::1"));
  await lab.way("web.shop");
  assert.equal(lab.holds, 1);
  await lab.clock.advance(10 * 60_000);
  await lab.way("web.shop");
  assert.equal(lab.holds, 2);
});

Deno.test("TargetNames goes on from here while the cluster's DNS cannot be asked, and asks again after 30 s", async () => {
  await using lab = new Lab(all);
  lab.cut();
  assert.deepEqual(await lab.way("www.elsewhere.example"), here("198.51.100.7"));
  assert.equal(lab.dialled.length, 1);
  // Services and addresses are the cluster's all the while, and so is whatever has port 53.
  assert.deepEqual(await lab.way("web.shop"), far("10.96.1.1", "fd00::1"));
  assert.deepEqual(await lab.way("10.0.0.5"), far("10.0.0.5"));
  await assert.rejects(lab.way("www.elsewhere.example", 53), {
    code: "unreachable",
    message: /No agent available/,
  });
  assert.deepEqual(await lab.way("www.elsewhere.example"), here("198.51.100.7"));
  assert.equal(lab.dialled.length, 1);
  await lab.clock.advance(29_999);
  await lab.way("www.elsewhere.example");
  assert.equal(lab.dialled.length, 1);
  await lab.clock.advance(1);
  // One asks, the others do not wait for it.
  const ways = await Promise.all([lab.way("www.elsewhere.example"), lab.way("www.elsewhere.example")]);
  assert.deepEqual(ways, [here("198.51.100.7"), here("198.51.100.7")]);
  assert.equal(lab.dialled.length, 2);
  lab.cut(false);
  assert.deepEqual(await lab.way("www.elsewhere.example"), here("198.51.100.7"));
  await lab.clock.advance(30_000);
  assert.deepEqual(await lab.way("www.elsewhere.example"), far("192.0.2.7"));
  assert.deepEqual(await lab.way("db.internal"), far("10.0.0.5"));
});

Deno.test("TargetNames asks a cluster's DNS for all names again once it has answered that it does not know one", async () => {
  await using lab = new Lab(all);
  lab.network.names.set("db.internal", ["198.51.100.1"]);
  lab.cut();
  assert.deepEqual(await lab.way("db.internal"), here("198.51.100.1"));
  lab.cut(false);
  await lab.clock.advance(30_000);
  assert.deepEqual(await lab.way("only.here.example"), here("198.51.100.8", "2001:db8::8"));
  assert.deepEqual(await lab.way("db.internal"), far("10.0.0.5"));
});

Deno.test("TargetNames does not take a name that the cluster does not know for a cluster that is away", async () => {
  await using lab = new Lab(all);
  assert.deepEqual(await lab.way("only.here.example"), here("198.51.100.8", "2001:db8::8"));
  assert.deepEqual(await lab.way("www.elsewhere.example"), far("192.0.2.7"));
});

Deno.test("TargetNames asks the cluster's DNS each time as long as this machine knows no better", async () => {
  await using lab = new Lab(all);
  lab.cut();
  await assert.rejects(lab.way("db.internal"), {
    code: "unreachable",
    message: /No agent available.*no such name/,
  });
  lab.cut(false);
  assert.deepEqual(await lab.way("db.internal"), far("10.0.0.5"));
});

Deno.test("TargetNames says that it cannot ask, where the cluster's DNS is away and nobody stands in", async () => {
  await using lab = new Lab({ guestDNS: true });
  lab.services.delete("dns-default.openshift-dns.svc");
  await assert.rejects(lab.way("db.internal"), {
    code: "unreachable",
    message: /: cannot find the Service openshift-dns\/dns-default/,
  });
});

Deno.test("TargetNames puts IPv4 first of what this machine resolves, where that is wished", async () => {
  await using lab = new Lab({ ...all, preferIPv4: true });
  lab.network.names.set("six.example", ["2001:db8::1", "2001:db8::2", "198.51.100.1"]);
  assert.deepEqual(await lab.way("six.example"), here("198.51.100.1", "2001:db8::1", "2001:db8::2"));
});
