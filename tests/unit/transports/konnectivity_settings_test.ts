import assert from "node:assert/strict";
import { formatPath, rootContext } from "../../../src/config/mod.ts";
import { transportsSchema } from "../../../src/transports/mod.ts";

function parsed(
  names: unknown,
  lab: unknown = { kubernetes: "lab" },
): { names: unknown; problems: string[] } {
  const context = rootContext({ base: "/etc/postern", home: "/home/me" });
  const written = { lab, hosted: { konnectivity: { uds: "/run/front.sock", names } } };
  const settings = transportsSchema().parse(written, context.at("transports"));
  const hosted = settings?.["hosted"]?.settings as { names: unknown } | undefined;
  const problems = context.problems.map(({ path, message }) =>
    `${formatPath(path).replace("transports.hosted.konnectivity.", "")} ${message}`
  );
  return { names: hosted?.names, problems };
}

const standard = {
  guestDNS: false,
  guestDNSService: { namespace: "openshift-dns", name: "dns-default" },
  managementDNS: false,
  cloudDirect: false,
  otherwise: "agent",
  preferIPv4: false,
};

const readable: { written: unknown; names: unknown }[] = [
  { written: undefined, names: undefined },
  { written: {}, names: standard },
  {
    written: {
      services: "lab",
      guestDNS: true,
      guestDNSService: "openshift-dns/dns-default",
      managementDNS: false,
      cloudDirect: true,
    },
    names: { ...standard, services: "lab", guestDNS: true, cloudDirect: true },
  },
  {
    written: { guestDNS: true, guestDNSService: "fd00:0::a", managementDNS: true, otherwise: "local" },
    names: {
      ...standard,
      guestDNS: true,
      guestDNSService: { address: "fd00::a" },
      managementDNS: true,
      otherwise: "local",
    },
  },
];
for (const { written, names } of readable) {
  Deno.test(`konnectivitySettings reads names: ${JSON.stringify(written)}`, () => {
    assert.deepEqual(parsed(written), { names, problems: [] });
  });
}

const wrong: { written: unknown; lab?: unknown; says: readonly string[] }[] = [
  {
    written: { services: "lba" },
    says: ['names.services names the unknown transport "lba", did you mean "lab"?'],
  },
  {
    written: { services: "direct" },
    says: ['names.services names the unknown transport "direct": known transports are lab'],
  },
  { written: { services: "hosted" }, says: ["names.services must name a transport of kind kubernetes"] },
  {
    written: { services: "lab" },
    lab: { kubernetes: { contexts: "all", suffix: "k8s.internal" } },
    says: ["names.services must name a transport with one context"],
  },
  {
    written: { guestDNS: true },
    says: ["names.guestDNS needs services, whose API knows the address of that DNS"],
  },
  {
    written: { services: "lab", managementDNS: true, guestDNSService: "dns" },
    says: [
      "names.guestDNSService must be NAMESPACE/SERVICE or an address",
      "names.managementDNS needs guestDNS: true, because it is the fallback of guestDNS",
    ],
  },
];
for (const { written, lab, says } of wrong) {
  Deno.test(`konnectivitySettings rejects names: ${JSON.stringify(written)}`, () => {
    assert.deepEqual(parsed(written, lab).problems, says);
  });
}
