import {
  type Context,
  described,
  type Infer,
  oneOrMore,
  optional,
  record,
  text,
  transformed,
} from "../config/mod.ts";
import { endsInNumber, normalHost } from "../words/mod.ts";
import { isDnsName } from "./messages/dns_name.ts";
import { fakeRange } from "./fake_range.ts";

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

/** The section `dns` of the configuration. */
export const dnsSection = record({
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
}, { describe: "a mapping with domains and fakeRange" });

export type DnsSettings = Infer<typeof dnsSection>;
