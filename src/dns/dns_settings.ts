import {
  type Context,
  described,
  duration,
  type Infer,
  integer,
  oneOrMore,
  optional,
  record,
  refine,
  text,
  transformed,
} from "../config/mod.ts";
import { endsInNumber, normalHost } from "../words/mod.ts";
import { isDnsName } from "./messages/dns_name.ts";
import { fakeRange, loopbackRange, overlap } from "./fake_range.ts";

/** A domain that postern answers for. */
function domain() {
  return transformed(text({ max: 255, describe: "a domain such as corp.example.net" }), readDomain);
}

function readDomain(written: string, context: Context): string | undefined {
  const name = normalHost(written.replace(/^\*?\./, ""));
  const isName = isDnsName(name) && /^[a-z0-9_.-]+$/.test(name) && !endsInNumber(name);
  if (isName) return name;
  context.report(`must be a domain such as corp.example.net: current value is "${written.slice(0, 60)}"`);
  return undefined;
}

const section = record({
  domains: optional(
    described(
      oneOrMore(domain()),
      "Domains that postern answers with addresses of fakeRange; it always answers for the domains of clusters.",
    ),
  ),
  fakeRange: optional(
    described(
      fakeRange(),
      "Addresses that postern answers for names; a client that connects to one through postern reaches the name.",
    ),
  ),
  loopback: optional(
    described(
      loopbackRange(),
      "Loopback addresses for names, such as 127.64.0.0/12: postern listens on a name's address and ports.",
    ),
  ),
  ports: optional(
    described(
      oneOrMore(integer({ min: 1, max: 65_535, describe: "a port from 1 to 65535" })),
      "Ports of loopback addresses whose name has no known ports; Services and rules with a port have their own.",
    ),
  ),
  maxListeners: optional(
    described(
      integer({ min: 1, max: 1_000_000 }),
      "Maximum number of listeners on loopback addresses; idle ones are closed for new names.",
    ),
    8192,
  ),
  idle: optional(
    described(
      duration({ min: 10_000 }),
      "How long a loopback address keeps its listeners without a query and a connection.",
    ),
    600_000,
  ),
}, { describe: "a mapping with domains, fakeRange, loopback, ports, maxListeners, idle" });

/** The section `dns` of the configuration. */
export const dnsSection = refine(section, ({ fakeRange, loopback, ports }, context) => {
  if (fakeRange && loopback && overlap(fakeRange, loopback)) {
    context.at("loopback").report(
      `must not overlap dns.fakeRange: ${fakeRange.text} and ${loopback.text} do`,
    );
  }
  if (ports && !loopback) context.at("ports").report("has no effect without dns.loopback", "warning");
});

export type DnsSettings = Infer<typeof dnsSection>;
