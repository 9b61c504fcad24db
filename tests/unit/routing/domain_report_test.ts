import assert from "node:assert/strict";
import type { FarDomain } from "../../../src/core/mod.ts";
import { parseIp } from "../../../src/words/mod.ts";
import { overlaps, ownedInside } from "../../../src/routing/mod.ts";
import { rulesOf } from "../../support/rules.ts";

function domain(...networks: readonly string[]): FarDomain {
  return {
    networks: networks.map((text) => {
      const [address = "", bits] = text.split("/");
      return { bytes: parseIp(address) ?? new Uint8Array(), bits: Number(bits), holds: "Services" };
    }),
    addresses: new Set(),
    knowsServiceNetwork: true,
    namespaces: new Set(),
    services: new Set(),
  };
}

Deno.test("overlaps() reports each pair of clusters once, for either order of sizes", () => {
  const domains = new Map([
    ["lab", domain("10.96.0.0/16", "10.244.0.0/16")],
    ["prod", domain("10.0.0.0/8", "10.244.7.0/24")],
    ["far", domain("172.30.0.0/16", "fd00::/112")],
    ["unknown", undefined],
  ]);
  assert.deepEqual(overlaps(domains), [
    { transports: ["lab", "prod"], networks: ["10.96.0.0/16", "10.0.0.0/8"] },
  ]);
});

Deno.test("ownedInside() reports rules for networks around a cluster's, unless they route to it", () => {
  const domains = new Map([["lab", domain("10.96.0.0/16")]]);
  const rules = rulesOf([
    "routes: 10.0.0.0/8 > corp",
    "direct: 10.96.0.0/12 > direct",
    "routes: 10.96.0.0/16 > corp",
    "routes: 10.96.1.0/24 > corp",
    "routes: 10.0.0.0/9 > lab",
    "routes: 172.16.0.0/12 > corp",
  ]);
  assert.deepEqual(ownedInside(rules, domains).map((line) => line.replace(/^\S+ /, "")), [
    'warning: "10.0.0.0/8" contains 10.96.0.0/16 of the cluster of "lab": postern sends that network to the cluster only',
    'warning: "10.96.0.0/12" contains 10.96.0.0/16 of the cluster of "lab": postern sends that network to the cluster only',
  ]);
});
