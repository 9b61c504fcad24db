import { choice, type Context, described, flag, optional, record, text, transformed } from "../config/mod.ts";
import type { NamesSettings } from "../konnectivity/mod.ts";
import { formatIp, parseIp, unmapped } from "../words/mod.ts";

/** The DNS Service of OpenShift. */
const usualDnsService = "openshift-dns/dns-default";

const written = record({
  services: optional(
    described(
      text({ max: 63 }),
      "A transport of kind kubernetes, whose API resolves names of Services to their addresses.",
    ),
  ),
  guestDNS: optional(
    described(flag(), "Resolves all other names with the cluster's own DNS, over TCP through the server."),
    false,
  ),
  guestDNSService: optional(
    described(text({ max: 127 }), "The cluster's DNS: NAMESPACE/SERVICE, or an address."),
    usualDnsService,
  ),
  managementDNS: optional(
    described(
      flag(),
      "Resolves and dials targets from this machine if the guest's DNS has no answer, except on port 53.",
    ),
    false,
  ),
  cloudDirect: optional(
    described(flag(), "Dials the APIs of AWS, Azure and IBM Cloud from this machine."),
    false,
  ),
  otherwise: optional(
    described(
      choice("agent", "local"),
      "The resolver for all other names: `agent` resolves them where the agent runs, `local` on this machine.",
    ),
    "agent",
  ),
  preferIPv4: optional(
    described(flag(), "Uses IPv6 addresses only for names without IPv4 addresses."),
    false,
  ),
}, {
  describe:
    "a mapping with services, guestDNS, guestDNSService, managementDNS, cloudDirect, otherwise, preferIPv4",
});

type Written = NonNullable<ReturnType<typeof written.parse>>;

/** `names: { services, guestDNS, … }` of a konnectivity transport. */
export const namesSettings = transformed(written, readNames);

function readNames({ guestDNSService, ...rest }: Written, context: Context): NamesSettings | undefined {
  const service = dnsServiceOf(guestDNSService);
  const wrong: [key: string, message: string][] = [];
  if (!service) wrong.push(["guestDNSService", "must be NAMESPACE/SERVICE or an address"]);
  else if (rest.guestDNS && !("address" in service) && rest.services === undefined) {
    wrong.push(["guestDNS", "needs services, whose API knows the address of that DNS"]);
  }
  if (rest.managementDNS && !rest.guestDNS) {
    wrong.push(["managementDNS", "needs guestDNS: true, because it is the fallback of guestDNS"]);
  }
  for (const [key, message] of wrong) context.at(key).report(message);
  return wrong.length > 0 || !service ? undefined : { ...rest, guestDNSService: service };
}

function dnsServiceOf(written: string): NamesSettings["guestDNSService"] | undefined {
  const address = parseIp(written);
  if (address) return { address: formatIp(unmapped(address)) };
  const [, namespace, name] = /^([a-z0-9-]{1,63})\/([a-z0-9-]{1,63})$/.exec(written) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}
