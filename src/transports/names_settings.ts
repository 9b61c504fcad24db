import { choice, type Context, described, flag, optional, record, text, transformed } from "../config/mod.ts";
import type { NamesSettings } from "../konnectivity/mod.ts";
import { formatIp, parseIp, unmapped } from "../words/mod.ts";

/** Where OpenShift has its DNS. */
const usualDnsService = "openshift-dns/dns-default";

const written = record({
  services: optional(
    described(
      text({ max: 63 }),
      "A transport of kind kubernetes: names of its Services mean their addresses, by what its API says.",
    ),
  ),
  guestDNS: optional(
    described(flag(), "Asks the cluster's own DNS, over TCP through the server, for all other names."),
    false,
  ),
  guestDNSService: optional(
    described(text({ max: 127 }), "Where that DNS is: NAMESPACE/SERVICE, or an address."),
    usualDnsService,
  ),
  managementDNS: optional(
    described(
      flag(),
      "Resolves and dials from this machine what the guest's DNS does not answer for, port 53 excepted.",
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
      "Who resolves what is left: the agent, where it runs, or this machine's resolver.",
    ),
    "agent",
  ),
  preferIPv4: optional(
    described(flag(), "Uses IPv6 addresses only where a name has no other."),
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
    wrong.push(["guestDNS", "must stand beside services, whose API knows where that DNS is"]);
  }
  if (rest.managementDNS && !rest.guestDNS) {
    wrong.push(["managementDNS", "must stand beside guestDNS: true, which it stands in for"]);
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
