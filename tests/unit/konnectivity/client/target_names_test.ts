import assert from "node:assert/strict";
import type { FarName, FarNames, FarTables, Transport } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { NamesSettings } from "../../../../src/konnectivity/client/konnectivity_settings.ts";
import { TargetNames, type TargetPath } from "../../../../src/konnectivity/client/target_names.ts";
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

/** All sources that can resolve a name. */
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
  /** The names queried from the API, and the watch state. */
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
      dial: () => Promise.reject(new Error("unexpected dial")),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  path(host: string, port = 443): Promise<TargetPath> {
    return this.names.pathTo({ host, port }, { signal, onStep: (step) => this.steps.push(step) });
  }

  /** Makes the guest's DNS unreachable or reachable again. */
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

const far = (...hosts: string[]): TargetPath => ({ from: "agent", hosts });
const here = (...hosts: string[]): TargetPath => ({ from: "here", hosts });

const all = { guestDNS: true, managementDNS: true, cloudDirect: true } as const;

const cases: { name: string; settings?: Partial<NamesSettings>; host: string; path: TargetPath }[] = [
  {
    name: "an address goes to the agent unchanged",
    settings: all,
    host: "10.96.1.1",
    path: far("10.96.1.1"),
  },
  {
    name: "an IPv6 address goes to the agent unchanged",
    settings: all,
    host: "fd00::1",
    path: far("fd00::1"),
  },
  {
    name: "a cloud API is dialed from this machine",
    settings: all,
    host: "EC2.eu-west-1.AmazonAWS.com.",
    path: { from: "here" },
  },
  {
    name: "by default a cloud API is an ordinary name",
    host: "sts.amazonaws.com",
    path: far("sts.amazonaws.com"),
  },
  {
    name: "a cloud's parent domain is not an API",
    settings: { ...all, guestDNS: false, managementDNS: false },
    host: "azure.com",
    path: far("azure.com"),
  },
  {
    name: "a Service name resolves to the Service's addresses",
    host: "web.shop",
    path: far("10.96.1.1", "fd00::1"),
  },
  {
    name: "with preferIPv4 a Service name resolves only to IPv4",
    settings: { preferIPv4: true },
    host: "Web.Shop",
    path: far("10.96.1.1"),
  },
  {
    name: "an ExternalName may name another Service",
    host: "hop.shop.svc",
    path: far("10.96.1.1", "fd00::1"),
  },
  { name: "the agent may resolve an ExternalName", host: "out.shop.svc", path: far("www.elsewhere.example") },
  {
    name: "the cluster's DNS may resolve an ExternalName",
    settings: { guestDNS: true },
    host: "out.shop.svc",
    path: far("192.0.2.7"),
  },
  {
    name: "the agent resolves two labels that are no Service",
    host: "db.internal",
    path: far("db.internal"),
  },
  {
    name: "the cluster's DNS resolves two labels that are no Service",
    settings: { guestDNS: true },
    host: "db.internal",
    path: far("10.0.0.5"),
  },
  {
    name: "the cluster's DNS resolves a headless Service",
    settings: { guestDNS: true },
    host: "headless.shop.svc",
    path: far("10.128.0.5"),
  },
  { name: "a single label is not a Service", host: "web", path: far("web") },
  {
    name: "all addresses are tried, with alternating families",
    settings: { guestDNS: true },
    host: "both.example",
    path: far("192.0.2.1", "2001:db8::1", "192.0.2.2"),
  },
  {
    name: "with preferIPv4 only IPv4 addresses are tried",
    settings: { guestDNS: true, preferIPv4: true },
    host: "both.example",
    path: far("192.0.2.1", "192.0.2.2"),
  },
  {
    name: "with otherwise: local this machine resolves other names",
    settings: { otherwise: "local" },
    host: "only.here.example",
    path: far("198.51.100.8", "2001:db8::8"),
  },
  {
    name: "a name that only this machine resolves is dialed from this machine",
    settings: all,
    host: "only.here.example",
    path: here("198.51.100.8", "2001:db8::8"),
  },
  {
    name: "the DNS server may be an address",
    settings: { guestDNS: true, guestDNSService: { address: "10.96.0.10" } },
    host: "db.internal",
    path: far("10.0.0.5"),
  },
];

for (const { name, settings, host, path } of cases) {
  Deno.test(`TargetNames: ${name}`, async () => {
    await using lab = new Lab(settings);
    assert.deepEqual(await lab.path(host), path);
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
    name: "a missing Service",
    host: "no.shop.svc",
    code: "name_not_found",
    says: /no such Service/,
  },
  {
    name: "a missing Service, even if this machine resolves its name",
    settings: { otherwise: "local" },
    host: "web.shop.svc.cluster.local",
    code: "name_not_found",
    says: /no such Service/,
  },
  {
    name: "a missing Service, with every DNS enabled",
    settings: all,
    host: "web.shop.svc.cluster.local",
    code: "name_not_found",
    says: /cluster's DNS has no address/,
  },
  {
    name: "a headless Service without DNS",
    host: "headless.shop.svc",
    code: "name_not_found",
    says: /headless Service needs ready endpoints/,
  },
  { name: "a namespace", host: "olm.svc", code: "name_not_found", says: /the Service has no address/ },
  {
    name: "ExternalNames that form a loop",
    host: "round.shop.svc",
    code: "name_not_found",
    says: /no address/,
  },
  {
    name: "an unknown name",
    settings: all,
    host: "no.example",
    code: "name_not_found",
    says: /cluster's DNS has no address.*; .*no such name/,
  },
  {
    name: "a DNS server that only this machine resolves",
    settings: all,
    host: "only.here.example",
    port: 53,
    code: "name_not_found",
    says: /has no address for this name/,
  },
];

for (const { name, settings, host, port, code, says } of unknown) {
  Deno.test(`TargetNames does not resolve ${name}`, async () => {
    await using lab = new Lab(settings);
    await assert.rejects(lab.path(host, port), { code, message: says });
  });
}

Deno.test("TargetNames queries the API for names of two or more labels, never for addresses and clouds", async () => {
  await using lab = new Lab({ cloudDirect: true });
  for (const host of ["10.0.0.1", "web", "sts.amazonaws.com", "web.shop", "a.b.c"]) await lab.path(host);
  assert.deepEqual(lab.asked, ["web.shop", "a.b.c"]);
});

Deno.test("TargetNames reports where it found a name", async () => {
  await using lab = new Lab(all);
  for (const host of ["web.shop", "db.internal", "only.here.example", "out.shop.svc"]) await lab.path(host);
  assert.deepEqual(lab.steps, [
    "found web.shop: 10.96.1.1, fd00::1 (its Service)",
    "found db.internal: 10.0.0.5 (the cluster's DNS)",
    "found only.here.example: 198.51.100.8, 2001:db8::8 (this machine's resolver, dialed from this machine)",
    "out.shop.svc is the ExternalName www.elsewhere.example",
    "found www.elsewhere.example: 192.0.2.7 (the cluster's DNS)",
  ]);
});

Deno.test("TargetNames skips a failing API, and reports it if no other source resolves the name", async () => {
  await using lab = new Lab({ guestDNS: true, guestDNSService: { address: "10.96.0.10" } });
  lab.services.set("db.internal", new PosternError("unreachable", "The API is away", { hint: "start it" }));
  lab.services.set("no.shop.svc", new PosternError("unreachable", "The API is away", { hint: "start it" }));
  assert.deepEqual(await lab.path("db.internal"), far("10.0.0.5"));
  await assert.rejects(lab.path("no.shop.svc"), {
    code: "name_not_found",
    message: /The API is away; .*DNS/,
    hint: "start it",
  });
  await using without = new Lab();
  without.services.set("no.shop.svc", new PosternError("auth", "The API wants a token"));
  await assert.rejects(without.path("no.shop.svc"), { code: "unreachable", message: /wants a token/ });
});

Deno.test("TargetNames stops waiting for a silent API after five seconds", async () => {
  await using lab = new Lab();
  lab.services.set("slow.internal", "silent");
  const path = lab.path("slow.internal");
  await lab.clock.advance(5000);
  assert.deepEqual(await path, far("slow.internal"));
});

Deno.test("TargetNames stops when the client leaves during an API request", async () => {
  await using lab = new Lab();
  lab.services.set("slow.internal", "silent");
  const leaving = new AbortController();
  const path = lab.names.pathTo({ host: "slow.internal", port: 1 }, { signal: leaving.signal });
  leaving.abort(new Error("left"));
  await assert.rejects(path, /left/);
});

Deno.test("TargetNames watches the whole cluster, or queries single names for a while if RBAC denies that", async () => {
  await using lab = new Lab();
  lab.held = new PosternError("not_allowed", "Cannot list Services everywhere");
  assert.deepEqual(await lab.path("web.shop"), far("10.96.1.1", "fd00::1"));
  await lab.path("web.shop");
  assert.equal(lab.holds, 1);
  await lab.clock.advance(10 * 60_000);
  await lab.path("web.shop");
  assert.equal(lab.holds, 2);
});

Deno.test("TargetNames uses this machine's resolver while the cluster's DNS fails, and retries after 30 s", async () => {
  await using lab = new Lab(all);
  lab.cut();
  assert.deepEqual(await lab.path("www.elsewhere.example"), here("198.51.100.7"));
  assert.equal(lab.dialled.length, 1);
  // Services, addresses and port 53 still belong to the cluster.
  assert.deepEqual(await lab.path("web.shop"), far("10.96.1.1", "fd00::1"));
  assert.deepEqual(await lab.path("10.0.0.5"), far("10.0.0.5"));
  await assert.rejects(lab.path("www.elsewhere.example", 53), {
    code: "unreachable",
    message: /No agent available/,
  });
  assert.deepEqual(await lab.path("www.elsewhere.example"), here("198.51.100.7"));
  assert.equal(lab.dialled.length, 1);
  await lab.clock.advance(29_999);
  await lab.path("www.elsewhere.example");
  assert.equal(lab.dialled.length, 1);
  await lab.clock.advance(1);
  // One dial retries; the others do not wait for it.
  const paths = await Promise.all([lab.path("www.elsewhere.example"), lab.path("www.elsewhere.example")]);
  assert.deepEqual(paths, [here("198.51.100.7"), here("198.51.100.7")]);
  assert.equal(lab.dialled.length, 2);
  lab.cut(false);
  assert.deepEqual(await lab.path("www.elsewhere.example"), here("198.51.100.7"));
  await lab.clock.advance(30_000);
  assert.deepEqual(await lab.path("www.elsewhere.example"), far("192.0.2.7"));
  assert.deepEqual(await lab.path("db.internal"), far("10.0.0.5"));
});

Deno.test("TargetNames uses the cluster's DNS again after it reports an unknown name", async () => {
  await using lab = new Lab(all);
  lab.network.names.set("db.internal", ["198.51.100.1"]);
  lab.cut();
  assert.deepEqual(await lab.path("db.internal"), here("198.51.100.1"));
  lab.cut(false);
  await lab.clock.advance(30_000);
  assert.deepEqual(await lab.path("only.here.example"), here("198.51.100.8", "2001:db8::8"));
  assert.deepEqual(await lab.path("db.internal"), far("10.0.0.5"));
});

Deno.test("TargetNames does not treat an unknown name as a DNS outage", async () => {
  await using lab = new Lab(all);
  assert.deepEqual(await lab.path("only.here.example"), here("198.51.100.8", "2001:db8::8"));
  assert.deepEqual(await lab.path("www.elsewhere.example"), far("192.0.2.7"));
});

Deno.test("TargetNames queries the cluster's DNS each time while this machine cannot resolve the name", async () => {
  await using lab = new Lab(all);
  lab.cut();
  await assert.rejects(lab.path("db.internal"), {
    code: "unreachable",
    message: /No agent available.*no such name/,
  });
  lab.cut(false);
  assert.deepEqual(await lab.path("db.internal"), far("10.0.0.5"));
});

Deno.test("TargetNames reports a failing cluster DNS without a fallback", async () => {
  await using lab = new Lab({ guestDNS: true });
  lab.services.delete("dns-default.openshift-dns.svc");
  await assert.rejects(lab.path("db.internal"), {
    code: "unreachable",
    message: /: cannot find the cluster's DNS Service openshift-dns\/dns-default/,
  });
});

Deno.test("TargetNames with preferIPv4 puts IPv4 addresses of this machine's resolver first", async () => {
  await using lab = new Lab({ ...all, preferIPv4: true });
  lab.network.names.set("six.example", ["2001:db8::1", "2001:db8::2", "198.51.100.1"]);
  assert.deepEqual(await lab.path("six.example"), here("198.51.100.1", "2001:db8::1", "2001:db8::2"));
});
