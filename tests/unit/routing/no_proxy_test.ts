import assert from "node:assert/strict";
import { type Client, noProxyFor, Router } from "../../../src/routing/mod.ts";
import { rulesOf } from "../../support/rules.ts";

const lists: { name: string; direct: string[]; client?: Client; items: string[]; notes?: RegExp[] }[] = [
  {
    name: "puts loopback first and sorts the rest",
    direct: ["b.test", "A.test.", "127.0.0.1", "localhost", "10.0.0.5", "a.test"],
    items: ["localhost", "127.0.0.1", "::1", "10.0.0.5", "a.test", "b.test"],
  },
  {
    name: "writes *.corp.example as corp.example",
    direct: ["*.corp.example", ".x.test"],
    items: ["localhost", "127.0.0.1", "::1", "corp.example", "x.test"],
    notes: [
      /^"\*\.corp\.example" is written as corp\.example.*corp\.example itself goes direct too$/,
      /x\.test itself/,
    ],
  },
  {
    name: "notes that an exact name cannot be expressed",
    direct: ["=one.test"],
    items: ["localhost", "127.0.0.1", "::1", "one.test"],
    notes: [/names below one\.test go direct too/],
  },
  {
    name: "omits a port",
    direct: ["corp.example:8443"],
    items: ["localhost", "127.0.0.1", "::1"],
    notes: [/^"corp\.example:8443" is omitted: only Go supports ports fully; Python supports them partly/],
  },
  {
    name: "keeps networks with a note on urllib",
    direct: ["10.1.2.3/8", "2001:db8::/32", "2001:db8:1::1", "::ffff:192.0.2.1"],
    items: ["localhost", "127.0.0.1", "::1", "10.0.0.0/8", "192.0.2.1", "2001:db8:1::1"],
    notes: [
      /^Python's urllib ignores/,
      /"2001:db8::\/32" is omitted: Python's httpx fails to read IPv6 networks/,
    ],
  },
  {
    name: "omits patterns that no list supports",
    direct: ["any", "<local>", "<services>", "0.0.0.0/0", "exa*mple", "http://x.test/"],
    items: ["localhost", "127.0.0.1", "::1"],
    notes: [
      /"any".*no connection would use postern/,
      /"<local>"/,
      /"<services>"/,
      /prefix of 0 bits/,
      /"exa\*mple" is omitted: must/,
      /not a URL/,
    ],
  },
  {
    name: "writes international names as punycode",
    direct: ["bücher.example"],
    items: ["localhost", "127.0.0.1", "::1", "xn--bcher-kva.example"],
  },
  {
    name: "uses Go's features",
    client: "go",
    direct: [".below.test", "a.test:8443", "10.0.0.0/8", "10.0.0.1:81", "[2001:db8::1]:443", "10.0.0.0/8:81"],
    items: [
      "localhost",
      "127.0.0.1",
      "::1",
      ".below.test",
      "10.0.0.0/8",
      "10.0.0.1:81",
      "[2001:db8::1]:443",
      "a.test:8443",
    ],
    notes: [/"10\.0\.0\.0\/8:81" is omitted: Go does not support a port after a network/],
  },
  {
    name: "uses curl's form",
    client: "curl",
    direct: [".below.test", "a.test:8443", "10.0.0.0/8"],
    items: ["localhost", "127.0.0.1", "::1", "10.0.0.0/8", "below.test"],
    notes: [/below\.test itself/, /curl does not support ports/, /needs curl 7\.86/],
  },
  {
    name: "uses Python's form",
    client: "python",
    direct: ["a.test:8443", "2001:db8::1", "10.0.0.0/8", "2001:db8::/32", "10.0.0.1:81"],
    items: [
      "localhost",
      "127.0.0.1",
      "::1",
      "10.0.0.0/8",
      "2001:db8::1",
      "a.test:8443",
    ],
    notes: [/urllib/, /httpx fails to read IPv6 networks/, /not support a port after an address/],
  },
  {
    name: "uses Java's form",
    client: "java",
    direct: [
      "a.test",
      ".b.test",
      "=c.test",
      "10.0.0.0/8",
      "10.1.2.0/24",
      "10.0.0.0/9",
      "2001:db8::1",
      "192.0.2.1",
    ],
    items: [
      "localhost",
      "127.*",
      "[::1]",
      "*.a.test",
      "*.b.test",
      "10.*",
      "10.1.2.*",
      "192.0.2.1",
      "[2001:db8::1]",
      "a.test",
      "c.test",
    ],
    notes: [/"10\.0\.0\.0\/9" is omitted: Java supports only/],
  },
];

for (const { name, direct, client, items, notes = [] } of lists) {
  Deno.test(`noProxyFor() ${name}`, () => {
    const router = new Router({ rules: [] });
    const answer = noProxyFor(direct, router, client);
    assert.deepEqual(answer.items, items);
    assert.equal(answer.notes.length, notes.length, answer.notes.join("\n"));
    for (const [index, note] of notes.entries()) assert.match(answer.notes[index] ?? "", note);
  });
}

const routed: { name: string; rules: string[]; fallback?: string; kept?: string[]; left?: string[] }[] = [
  {
    name: "the same name",
    rules: ["routes: cluster.local > lab"],
    left: ["cluster.local", ".cluster.local", "=cluster.local", "a.cluster.local"],
  },
  {
    name: "a subdomain",
    rules: ["routes: x.corp.test > lab"],
    left: ["corp.test", ".corp.test"],
    kept: ["y.corp.test", "xcorp.test"],
  },
  {
    name: "only subdomains",
    rules: ["routes: .corp.test > lab"],
    left: ["corp.test", "a.corp.test"],
    kept: ["test.corp"],
  },
  {
    name: "one port",
    rules: ["routes: db.corp.test:5432 > lab", "routes: net.test:1 > lab"],
    left: ["corp.test", "x.net.test"],
  },
  {
    name: "an exclusion over a route",
    rules: ["routes: corp.test > lab", "direct: public.corp.test > direct"],
    kept: ["public.corp.test", "a.public.corp.test"],
    left: ["corp.test"],
  },
  {
    name: "an exclusion of the file over a longer route",
    rules: ["catalogue: x.corp.test > lab", "direct: corp.test > direct"],
    kept: ["corp.test"],
  },
  {
    name: "networks inside and around",
    rules: ["routes: 10.20.0.0/16 > lab", "routes: 2001:db8::1 > lab"],
    left: ["10.0.0.0/8", "10.20.1.1", "2001:db8::/32"],
    kept: ["10.21.0.0/16", "192.0.2.1", "2001:db9::1"],
  },
  {
    name: "an excluded end of a network",
    rules: ["routes: 10.20.0.0/16 > lab", "direct: 10.20.0.0 > direct"],
    left: ["10.0.0.0/8"],
    kept: ["10.20.0.0"],
  },
  {
    name: "a table",
    rules: ["routes: <services> > lab", "routes: <clusterips> > lab"],
    left: ["shop", "web.shop", "10.96.0.0/12", "10.96.0.1"],
    kept: ["web.shop.test", "10.97.0.0/16"],
  },
  {
    name: "the default",
    rules: ["direct: corp.test > direct"],
    fallback: "proxy",
    kept: ["corp.test"],
    left: ["other.test", "10.0.0.0/8"],
  },
  { name: "one label", rules: ["routes: <local> > lab"], left: ["printer"], kept: ["a.printer.test"] },
];

for (const { name, rules, fallback = "direct", kept = [], left = [] } of routed) {
  Deno.test(`noProxyFor() omits what postern routes: ${name}`, () => {
    const tables = new Map([["lab", {
      services: new Set(["web", "web.shop"]),
      addresses: new Set(["10.96.0.1"]),
    }]]);
    const router = new Router({ rules: rulesOf(rules), fallback, tables });
    const isKept = (text: string) => noProxyFor([text], router).items.length === 4;
    assert.deepEqual(kept.filter((text) => !isKept(text)), []);
    assert.deepEqual(left.filter(isKept), []);
    for (const text of left) {
      assert.match(noProxyFor([text], router).notes.join(), /postern routes it: .+ to \w+/);
    }
  });
}
