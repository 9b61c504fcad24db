import assert from "node:assert/strict";
import { loadConfig } from "../../../../src/plan/mod.ts";
import { sidecarConfig } from "../../../../src/roles/konnectivity/sidecar_config.ts";
import type { SidecarSettings } from "../../../../src/roles/mod.ts";
import { parseTarget } from "../../../../src/words/mod.ts";
import { Router } from "../../../../src/routing/mod.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const plain: SidecarSettings = {
  kind: "https",
  server: { host: "konnectivity-server-local", port: 8090 },
  mode: "http-connect",
  tls: { ca: "/ca.crt", cert: "/tls.crt", key: "/tls.key" },
  listen: ["localhost:8090"],
  isOpen: false,
  kubeconfigs: ["/kubeconfig"],
  names: { guestDNS: true, managementDNS: false, preferIPv4: false },
  cloudDirect: false,
  guestProxies: {},
  ownProxies: { https: "http://corp.example:3128" },
  drain: 25_000,
};

/** The configuration as an instance reads it. */
async function loaded(settings: Partial<SidecarSettings>) {
  const text = JSON.stringify(sidecarConfig({ ...plain, ...settings }));
  const { settings: read, rules, warnings } = await loadConfig(new MemoryWorld(), { text });
  const router = new Router({ rules, fallback: read.default });
  return { read, warnings, wayTo: (target: string) => router.route(parseTarget(target)).transport };
}

const squid = { http: "http://squid.example:3128", https: "https://squid.example:3129" };
const cloudy = { cloudDirect: true } as const;

const cases: { name: string; settings: Partial<SidecarSettings>; to: Record<string, string> }[] = [
  {
    name: "everything goes through the tunnel",
    settings: {},
    to: {
      "web.shop:80": "konnectivity",
      "sts.amazonaws.com:443": "konnectivity",
      "10.0.0.1:1": "konnectivity",
    },
  },
  {
    name: "only cloud APIs use the proxy of the environment",
    settings: cloudy,
    to: {
      "ec2.eu-west-1.amazonaws.com:443": "cloud",
      "login.microsoftonline.com:443": "cloud",
      "s3.c2s.ic.gov:443": "cloud",
      "a.hci.ic.gov:443": "cloud",
      "a.sc2s.sgov.gov:443": "cloud",
      "management.azure.com:443": "cloud",
      "iam.cloud.ibm.com:80": "cloud",
      "amazonaws.com:443": "konnectivity",
      "notamazonaws.com:443": "konnectivity",
      "web.shop:443": "konnectivity",
    },
  },
  {
    name: "without a proxy cloud APIs are dialed directly",
    settings: { ...cloudy, ownProxies: { noProxy: "amazonaws.com" } },
    to: { "sts.amazonaws.com:443": "direct", "web.shop:443": "konnectivity" },
  },
  {
    name: "a proxy only for port 80 serves only that port",
    settings: { ...cloudy, ownProxies: { http: "corp.example:3128" } },
    to: {
      "sts.amazonaws.com:80": "cloud-http",
      "sts.amazonaws.com:443": "direct",
      "web.shop:80": "konnectivity",
    },
  },
  {
    name: "NO_PROXY excludes only cloud APIs from the proxy",
    settings: {
      ...cloudy,
      ownProxies: {
        https: "http://corp.example:3128",
        noProxy:
          " sts.AmazonAWS.com, .azure.com,com:8443,10.0.0.0/8,.svc,web.shop,a b,,cloud.ibm.com.evil.example",
      },
    },
    to: {
      "sts.amazonaws.com:443": "direct",
      "x.sts.amazonaws.com:443": "direct",
      "ec2.amazonaws.com:443": "cloud",
      "ec2.amazonaws.com:8443": "direct",
      "management.azure.com:443": "direct",
      "iam.cloud.ibm.com:443": "cloud",
      "s3.c2s.ic.gov:443": "cloud",
      "web.shop:443": "konnectivity",
      "a.b.svc:443": "konnectivity",
      "10.0.0.1:443": "konnectivity",
    },
  },
  {
    name: "NO_PROXY=* disables the proxy",
    settings: { ...cloudy, ownProxies: { https: "http://corp.example:3128", noProxy: "*" } },
    to: { "sts.amazonaws.com:443": "direct", "a.azure.com:1": "direct", "web.shop:443": "konnectivity" },
  },
  {
    name: "the guest's proxies serve targets outside the guest's NO_PROXY list",
    settings: {
      guestProxies: {
        ...squid,
        noProxy: ".cluster.local,.svc,10.128.0.0/14,internal.example:8443,[fd00::/8]",
      },
    },
    to: {
      "idp.example:443": "guest-https",
      "idp.example:80": "guest-http",
      "idp.example:8080": "guest-https",
      "web.shop.svc:443": "konnectivity",
      "web.shop.svc:80": "konnectivity",
      "web.shop.svc.cluster.local:80": "konnectivity",
      "10.129.0.1:80": "konnectivity",
      "10.1.0.1:443": "guest-https",
      "internal.example:8443": "konnectivity",
      "internal.example:443": "guest-https",
      "localhost:443": "konnectivity",
      "127.0.0.9:80": "konnectivity",
      "[::1]:443": "konnectivity",
      "sts.amazonaws.com:443": "guest-https",
    },
  },
  {
    name: "a guest's proxy only for port 80",
    settings: { guestProxies: { http: squid.http, https: "" } },
    to: { "idp.example:443": "konnectivity", "idp.example:80": "guest-http", "localhost:80": "konnectivity" },
  },
  {
    name: "a guest's proxy for all ports except 80",
    settings: { guestProxies: { https: squid.https } },
    to: { "idp.example:443": "guest-https", "idp.example:80": "konnectivity" },
  },
  {
    name: "with guest proxies cloud APIs are still dialed from this machine, except the proxies",
    settings: {
      ...cloudy,
      guestProxies: { https: "http://proxy.eu.amazonaws.com:3128", noProxy: "s3.amazonaws.com,.azure.com" },
    },
    to: {
      "sts.amazonaws.com:443": "cloud",
      "s3.amazonaws.com:443": "cloud",
      "a.azure.com:443": "cloud",
      "proxy.eu.amazonaws.com:443": "guest-https",
      "idp.example:443": "guest-https",
    },
  },
];

for (const { name, settings, to } of cases) {
  Deno.test(`sidecarConfig(): ${name}`, async () => {
    const { wayTo } = await loaded(settings);
    assert.deepEqual(Object.fromEntries(Object.keys(to).map((target) => [target, wayTo(target)])), to);
  });
}

Deno.test("sidecarConfig() reaches the guest's proxies through the tunnel and its own proxies directly", async () => {
  const { read } = await loaded({ ...cloudy, guestProxies: squid });
  assert.equal(read.transports["guest-https"]?.via, "konnectivity");
  assert.equal(read.transports["guest-http"]?.via, "konnectivity");
  assert.equal(read.transports["cloud"]?.via, undefined);
});

Deno.test("sidecarConfig() resolves names like HyperShift, or lets the agent resolve them", async () => {
  const namesOf = async (settings: Partial<SidecarSettings>) => {
    const { read } = await loaded(settings);
    return (read.transports["konnectivity"]?.settings as { names?: Record<string, unknown> }).names;
  };
  const names = await namesOf({ names: { guestDNS: true, managementDNS: true, preferIPv4: true } });
  assert.equal(names?.["services"], "guest");
  assert.equal(names?.["otherwise"], "local");
  assert.deepEqual([names?.["guestDNS"], names?.["managementDNS"], names?.["preferIPv4"]], [
    true,
    true,
    true,
  ]);
  const without = await namesOf({ names: { guestDNS: false, managementDNS: true, preferIPv4: false } });
  assert.deepEqual([without?.["guestDNS"], without?.["managementDNS"]], [false, false]);
  const several = await loaded({ kubeconfigs: ["/a", "/b"] });
  assert.deepEqual(
    (several.read.transports["guest"]?.settings as { kubeconfigs?: unknown }).kubeconfigs,
    ["/a", "/b"],
  );
  const { kubeconfigs: _none, ...disabled } = plain;
  const text = JSON.stringify(sidecarConfig(disabled));
  const { settings } = await loadConfig(new MemoryWorld(), { text });
  assert.equal((settings.transports["konnectivity"]?.settings as { names?: unknown }).names, undefined);
});

Deno.test("sidecarConfig() listens for one protocol, and for probes if configured", async () => {
  const socks = await loaded({ kind: "socks5", health: "0.0.0.0:8093" });
  assert.deepEqual(Object.keys(socks.read.listen ?? {}).sort(), ["admin", "allowOpen", "limits", "socks"]);
  const https = await loaded({ isOpen: true, listen: ["0.0.0.0:8090"] });
  assert.deepEqual(Object.keys(https.read.listen ?? {}).sort(), ["allowOpen", "http", "limits"]);
});

for (const url of ["ftp://squid.example", "http://", "http://a b/"]) {
  Deno.test(`sidecarConfig() rejects the proxy ${url}`, () => {
    const settings = { ...plain, guestProxies: { https: url } };
    assert.throws(() => sidecarConfig(settings), { code: "usage", message: /Cannot use --https-proxy/ });
  });
}
