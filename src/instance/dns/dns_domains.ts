import { addressAt, type FakeRange } from "../../dns/mod.ts";
import type { Plan } from "../../plan/mod.ts";

/** The maximum number of reverse zones for a range. */
const mostReverseZones = 16;

/** The domains that an instance with this plan answers for, without subdomains of listed domains. */
export function dnsDomains({ config: { settings, rules }, transports }: Plan): string[] {
  const ranges = [settings.dns?.fakeRange, settings.dns?.loopback].filter((range) => range !== undefined);
  const domains = new Set(settings.dns?.domains);
  for (const { pattern, transport } of rules) {
    const built = transports.byName.get(transport);
    if (pattern.kind !== "name" || !built) continue;
    const isDialable = ranges.length > 0 && built.type !== "direct" && built.type !== "reject";
    if (built.transport.names || isDialable) domains.add(pattern.name);
  }
  const reverse = ranges.flatMap(reverseZones);
  return [...[...domains].filter((domain) => !isInside(domain, domains)).sort(), ...reverse];
}

function isInside(domain: string, domains: ReadonlySet<string>): boolean {
  for (let at = domain.indexOf("."); at >= 0; at = domain.indexOf(".", at + 1)) {
    if (domains.has(domain.slice(at + 1))) return true;
  }
  return false;
}

/** The /16 reverse zones of a range, or none if there are too many. */
function reverseZones(range: FakeRange): string[] {
  const count = Math.ceil(range.size / 65_536);
  if (count > mostReverseZones) return [];
  return Array.from({ length: count }, (_, at) => {
    const [first, second] = addressAt(range, at * 65_536).split(".");
    return `${second}.${first}.in-addr.arpa`;
  });
}
