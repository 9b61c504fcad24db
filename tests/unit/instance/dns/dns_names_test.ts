import assert from "node:assert/strict";
import { loadConfig, type Plan, Transports } from "../../../../src/plan/mod.ts";
import { DnsNames, portsAfterReload } from "../../../../src/instance/dns/dns_names.ts";
import { dnsDomains } from "../../../../src/instance/dns/dns_domains.ts";
import { FakeAddresses } from "../../../../src/instance/dns/fake_addresses.ts";
import { reverseAddress } from "../../../../src/instance/dns/reverse_name.ts";
import type { FarName, FarNames } from "../../../../src/core/mod.ts";
import type { Domains } from "../../../../src/routing/mod.ts";
import type { DnsAnswer } from "../../../../src/dns/mod.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();

/** A few names, instead of a cluster. */
const far: Readonly<Record<string, FarName>> = {
  "web.shop.svc.cluster.local": {
    addresses: ["10.96.0.7"],
    services: [{ name: "web.shop.svc.cluster.local", port: 80, addresses: ["10.96.0.7"] }],
    ports: [80, 8443],
  },
  "two.shop.svc.cluster.local": { addresses: ["10.96.0.8", "fd00::8"] },
  "shop.svc.cluster.local": { addresses: [] },
  "alias.shop.svc.cluster.local": { addresses: [], alias: "two.shop.svc.cluster.local" },
  "outside.shop.svc.cluster.local": { addresses: [], alias: "db.example.com" },
  "circle.shop.svc.cluster.local": { addresses: [], alias: "circle.shop.svc.cluster.local" },
  web: { addresses: ["10.96.0.7"] },
};
const names: FarNames = {
  find: (name) => Promise.resolve(far[name]),
  nameOf: (address) => address === "10.96.0.7" ? "web.shop.svc.cluster.local" : undefined,
};

const text = `
transports: { up: { proxy: { url: "socks5h://127.0.0.1:1" } }, lab: { proxy: { url: "socks5h://127.0.0.1:2" } } }
routes:
  - { to: [corp.example, .below.example, "port.example:5432"], via: up }
  - { to: [.svc, .cluster.local, <local>], via: lab }
direct: [public.corp.example]
dns: { domains: [own.example], fakeRange: 198.18.0.0/15 }
`;

/** With `domains`, the router holds back targets that a cluster may own; with `isLate`, only after a look. */
async function dnsOf(
  config = text,
  { domains, isLate = false }: { domains?: Domains; isLate?: boolean } = {},
) {
  const world = new MemoryWorld();
  const log = recordingLog();
  const loaded = await loadConfig(world, { text: config });
  const transports = new Transports(world, loaded, { log });
  // The transport "lab" replaces one that reaches a cluster.
  const byName = new Map(transports.plan.transports.byName);
  const lab = byName.get("lab");
  if (lab) {
    byName.set("lab", {
      ...lab,
      type: "kubernetes",
      transport: Object.assign(Object.create(lab.transport), { names }),
    });
  }
  const router = domains ? transports.plan.router.withTables(new Map(), domains) : transports.plan.router;
  const plan: Plan = { ...transports.plan, router, transports: { ...transports.plan.transports, byName } };
  const range = loaded.settings.dns?.fakeRange;
  const fakes = range && await FakeAddresses.open(world, "/state/dns/x.addresses", { range, log });
  const local = loaded.settings.dns?.loopback;
  const book = local && await FakeAddresses.open(world, "/state/dns/x.loopback", { range: local, log });
  /** The names for which the instance listens, with their ports, and names without ports. */
  const listening = new Map<string, string>();
  const loopback = book && {
    nameOf: (address: string) => book.nameOf(address),
    open: (name: string, ports: readonly number[]) => {
      listening.set(name, ports.join());
      return book.addressOf(name);
    },
    portless: (name: string) => void listening.set(name, "none"),
  };
  let now = isLate ? { ...plan, router: transports.plan.router } : plan;
  const look = () => {
    now = plan;
    return Promise.resolve();
  };
  const dns = new DnsNames(() => ({ plan: now, fakes, loopback }), look);
  return {
    plan,
    listening,
    ask: async (name: string, type: "A" | "AAAA" | "SRV" | "PTR" | "ANY" | "CNAME" | "SOA" = "A") =>
      await dns.answer({ name, type }, { signal }),
    async [Symbol.asyncDispose]() {
      await fakes?.[Symbol.asyncDispose]();
      await book?.[Symbol.asyncDispose]();
      await transports[Symbol.asyncDispose]();
    },
  };
}

/** An answer on one line: its kind, its zone and its records. */
function shown(answer: DnsAnswer): string {
  if (answer.kind !== "records") {
    return answer.kind === "notOurs" ? answer.kind : `${answer.kind} ${answer.zone}`;
  }
  const all = [...answer.records, ...answer.additionals ?? []].map((record) => {
    const { name, type } = record;
    const data = "address" in record
      ? record.address
      : record.type === "SRV"
      ? `${record.port} ${record.target}`
      : "target" in record
      ? record.target
      : "";
    return `${name} ${type} ${data}`;
  });
  return all.join(", ");
}

const svc = "svc.cluster.local";
for (
  const { name, type, is } of [
    { name: "db.corp.example", is: "db.corp.example A 198.18.0.1" },
    { name: "corp.example", is: "corp.example A 198.18.0.1" },
    { name: "db.corp.example", type: "ANY", is: "db.corp.example A 198.18.0.1" },
    { name: "db.corp.example", type: "AAAA", is: "nodata corp.example" },
    { name: "_a.corp.example", is: "unknown corp.example" },
    { name: "a\\032b.corp.example", is: "unknown corp.example" },
    { name: "public.corp.example", is: "notOurs" },
    { name: "corp.example.com", is: "notOurs" },
    { name: "x.below.example", is: "x.below.example A 198.18.0.1" },
    { name: "below.example", is: "nodata below.example" },
    { name: "below.example", type: "SOA", is: "nodata below.example" },
    { name: "port.example", is: "port.example A 198.18.0.1" },
    { name: "x.own.example", is: "x.own.example A 198.18.0.1" },
    { name: "example", is: "notOurs" },
    { name: "", is: "notOurs" },
    { name: "com", is: "notOurs" },
    { name: `web.shop.${svc}`, is: `web.shop.${svc} A 10.96.0.7` },
    { name: `web.shop.${svc}`, type: "AAAA", is: "nodata cluster.local" },
    { name: `no.shop.${svc}`, is: "unknown cluster.local" },
    { name: `shop.${svc}`, is: "nodata cluster.local" },
    { name: "cluster.local", is: "nodata cluster.local" },
    { name: `two.shop.${svc}`, type: "AAAA", is: `two.shop.${svc} AAAA fd00::8` },
    { name: `two.shop.${svc}`, type: "ANY", is: `two.shop.${svc} A 10.96.0.8, two.shop.${svc} AAAA fd00::8` },
    {
      name: `web.shop.${svc}`,
      type: "SRV",
      is: `web.shop.${svc} SRV 80 web.shop.${svc}, web.shop.${svc} A 10.96.0.7`,
    },
    {
      name: `alias.shop.${svc}`,
      is: `alias.shop.${svc} CNAME two.shop.${svc}, two.shop.${svc} A 10.96.0.8`,
    },
    { name: `alias.shop.${svc}`, type: "CNAME", is: `alias.shop.${svc} CNAME two.shop.${svc}` },
    { name: `outside.shop.${svc}`, is: `outside.shop.${svc} CNAME db.example.com` },
    // A name of one label is ours only if the cluster knows it.
    { name: "web", is: "web A 10.96.0.7" },
    { name: "printer", is: "notOurs" },
    { name: "7.0.96.10.in-addr.arpa", type: "PTR", is: `7.0.96.10.in-addr.arpa PTR web.shop.${svc}` },
    { name: "7.0.96.10.in-addr.arpa", type: "A", is: "nodata 7.0.96.10.in-addr.arpa" },
    { name: "8.0.96.10.in-addr.arpa", type: "PTR", is: "notOurs" },
    { name: "1.0.18.198.in-addr.arpa", type: "PTR", is: "unknown 18.198.in-addr.arpa" },
    { name: "in-addr.arpa", type: "PTR", is: "notOurs" },
  ] as const satisfies readonly { name: string; type?: string; is: string }[] as readonly {
    name: string;
    type?: "A" | "AAAA" | "SRV" | "PTR" | "ANY" | "CNAME" | "SOA";
    is: string;
  }[]
) {
  Deno.test(`DnsNames.answer() answers "${name}" ${type ?? "A"}`, async () => {
    await using dns = await dnsOf();
    assert.equal(shown(await dns.ask(name, type)), is);
  });
}

Deno.test("DnsNames.answer() gives cluster names below dns.domains an address of the range", async () => {
  await using dns = await dnsOf(text.replace("[own.example]", "[shop.svc.cluster.local]"));
  const name = `two.shop.${svc}`;
  assert.equal(shown(await dns.ask(name)), `${name} A 198.18.0.1`);
  assert.equal(shown(await dns.ask(name, "AAAA")), "nodata cluster.local");
  assert.equal(shown(await dns.ask(`no.shop.${svc}`)), "unknown cluster.local");
  assert.equal(shown(await dns.ask(`web.shop.${svc}`, "SRV")), `web.shop.${svc} SRV 80 web.shop.${svc}`);
  assert.equal(shown(await dns.ask(`shop.${svc}`)), "nodata cluster.local");
});

Deno.test("DnsNames.answer() limits how often it follows an alias to itself", async () => {
  await using dns = await dnsOf();
  const answer = await dns.ask(`circle.shop.${svc}`);
  assert.equal(answer.kind === "records" && answer.records.length <= 10, true);
});

Deno.test("DnsNames.answer() has no address for names of other transports without a range", async () => {
  await using dns = await dnsOf(text.replace(", fakeRange: 198.18.0.0/15", ""));
  assert.equal(shown(await dns.ask("x.own.example")), "unknown own.example");
  assert.equal(shown(await dns.ask("own.example")), "nodata own.example");
  assert.equal(shown(await dns.ask("1.0.18.198.in-addr.arpa", "PTR")), "notOurs");
  assert.deepEqual(dnsDomains(dns.plan), ["cluster.local", "own.example", "svc"]);
});

Deno.test("DnsNames.answer() does not answer because of a rule for everything", async () => {
  const all = text.replace(/routes:[^]*?direct:/, "default: up\nroutes: [{ to: any, via: up }]\ndirect:");
  await using dns = await dnsOf(all);
  for (const name of ["db.corp.example", "www.example.com", "com"]) {
    assert.equal(shown(await dns.ask(name)), "notOurs", name);
  }
  assert.equal(shown(await dns.ask("x.own.example")), "x.own.example A 198.18.0.1");
});

const loopback = text.replace(
  "fakeRange: 198.18.0.0/15",
  "loopback: 127.64.0.0/12, ports: [22, 5432]",
);

for (
  const { name, type, is, ports } of [
    { name: "db.corp.example", is: "db.corp.example A 127.64.0.1", ports: "22,5432" },
    { name: "db.corp.example", type: "AAAA", is: "nodata corp.example" },
    { name: "port.example", is: "port.example A 127.64.0.1", ports: "5432" },
    // The default route is direct, so postern must not capture these.
    { name: "public.corp.example", is: "notOurs" },
    { name: "x.own.example", is: "notOurs" },
    { name: "x.own.example", type: "AAAA", is: "notOurs" },
    { name: "x.below.example", is: "x.below.example A 127.64.0.1", ports: "22,5432" },
    { name: "below.example", is: "nodata below.example" },
    { name: `web.shop.${svc}`, is: `web.shop.${svc} A 127.64.0.1`, ports: "80,8443" },
    { name: `web.shop.${svc}`, type: "AAAA", is: "nodata cluster.local" },
    { name: `web.shop.${svc}`, type: "SRV", is: `web.shop.${svc} SRV 80 web.shop.${svc}` },
    { name: `two.shop.${svc}`, is: `two.shop.${svc} A 127.64.0.1`, ports: "22,5432" },
    { name: `two.shop.${svc}`, type: "AAAA", is: "nodata cluster.local" },
    {
      name: `alias.shop.${svc}`,
      is: `alias.shop.${svc} CNAME two.shop.${svc}, two.shop.${svc} A 127.64.0.1`,
    },
    { name: `no.shop.${svc}`, is: "unknown cluster.local" },
    { name: "printer", is: "notOurs" },
    { name: "1.0.64.127.in-addr.arpa", type: "PTR", is: "unknown 64.127.in-addr.arpa" },
  ] as const satisfies readonly { name: string; type?: string; is: string; ports?: string }[] as readonly {
    name: string;
    type?: "A" | "AAAA" | "SRV" | "PTR";
    is: string;
    ports?: string;
  }[]
) {
  Deno.test(`DnsNames.answer() with a loopback range answers "${name}" ${type ?? "A"}`, async () => {
    await using dns = await dnsOf(loopback);
    assert.equal(shown(await dns.ask(name, type)), is);
    if (ports !== undefined || !is.includes("CNAME")) assert.equal(dns.listening.get(name), ports);
    if (is.includes(" A 127.")) {
      const [, found = ""] = / A 127\.64\.0\.1$/.exec(is) ? ["", "1.0.64.127.in-addr.arpa"] : [];
      assert.match(shown(await dns.ask(found, "PTR")), / PTR [a-z.]+$/);
    }
  });
}

Deno.test("DnsNames.answer() has no loopback address for a name whose ports it does not know", async () => {
  await using dns = await dnsOf(loopback.replace(", ports: [22, 5432]", ""));
  assert.equal(shown(await dns.ask("db.corp.example")), "nodata corp.example");
  assert.equal(dns.listening.get("db.corp.example"), "none");
  // A cluster's address still works for clients of the proxy.
  assert.match(shown(await dns.ask(`two.shop.${svc}`)), / A 10\.96\.0\.8$/);
  assert.equal(shown(await dns.ask("port.example")), "port.example A 127.64.0.1");
});

Deno.test("DnsNames.answer() gives a name without known ports an address of the fake range, if there is one", async () => {
  await using dns = await dnsOf(loopback.replace("ports: [22, 5432]", "fakeRange: 198.18.0.0/15"));
  assert.equal(shown(await dns.ask("db.corp.example")), "db.corp.example A 198.18.0.1");
  assert.equal(shown(await dns.ask(`web.shop.${svc}`)), `web.shop.${svc} A 127.64.0.1`);
});

Deno.test("DnsNames.answer() looks for a cluster before it leaves a name to other resolvers", async () => {
  const config = loopback.replace("<local>]", "<services>]").replace("[own.example]", "[shop]");
  await using dns = await dnsOf(config, { domains: new Map([["lab", undefined]]), isLate: true });
  assert.equal(shown(await dns.ask("db.shop")), "db.shop A 127.64.0.1");
});

Deno.test("DnsNames.answer() listens for a held name below dns.domains: a dial decides or refuses it", async () => {
  const config = loopback.replace("<local>]", "<services>]").replace("[own.example]", "[shop]");
  const domains = new Map([["lab", undefined]]);
  await using dns = await dnsOf(config, { domains });
  assert.ok(dns.plan.router.route({ host: "db.shop", port: 22 }).held);
  assert.equal(shown(await dns.ask("db.shop")), "db.shop A 127.64.0.1");
  assert.equal(dns.listening.get("db.shop"), "22,5432");
  // Without a domain, only the cluster can say that it has the name, as without the range.
  assert.ok(dns.plan.router.route({ host: "db.other", port: 22 }).held);
  assert.equal(shown(await dns.ask("db.other")), "notOurs");
});

Deno.test("portsAfterReload() closes names with another route and keeps those of clusters", async () => {
  await using dns = await dnsOf(loopback);
  const after = (name: string) => portsAfterReload(name, dns.plan);
  assert.deepEqual(after("db.corp.example"), [22, 5432]);
  assert.deepEqual(after("port.example"), [5432]);
  assert.deepEqual(after(`web.shop.${svc}`), "kept");
  for (const name of ["public.corp.example", "x.own.example", "www.example.com"]) {
    assert.deepEqual(after(name), [], name);
  }
});

Deno.test("dnsDomains() lists our domains without subdomains, and the reverse zones", async () => {
  await using dns = await dnsOf(text.replace("[corp.example,", "[corp.example, a.corp.example,"));
  assert.deepEqual(dnsDomains(dns.plan), [
    "below.example",
    "cluster.local",
    "corp.example",
    "own.example",
    "port.example",
    "svc",
    "18.198.in-addr.arpa",
    "19.198.in-addr.arpa",
  ]);
});

for (
  const { name, is } of [
    { name: "4.3.2.1.in-addr.arpa", is: "1.2.3.4" },
    { name: "256.3.2.1.in-addr.arpa", is: undefined },
    { name: "04.3.2.1.in-addr.arpa", is: undefined },
    { name: "3.2.1.in-addr.arpa", is: undefined },
    { name: "0.4.3.2.1.in-addr.arpa", is: undefined },
    { name: "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", is: "2001:db8::1" },
    { name: "0.0.8.b.d.0.1.0.0.2.ip6.arpa", is: undefined },
    { name: "g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", is: undefined },
    { name: "x4.3.2.1.in-addr.arpa", is: undefined },
  ]
) Deno.test(`reverseAddress() reads ${name}`, () => assert.equal(reverseAddress(name), is));
