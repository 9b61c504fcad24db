import { addressAt, type FakeRange } from "../../dns/mod.ts";
import type { Plan } from "../../plan/mod.ts";

/** The most reverse zones of a fake range. */
const mostReverseZones = 16;

/** The domains whose names a door answers by a plan, without those that are in another one. */
export function dnsDomains({ config: { settings, rules }, transports }: Plan): string[] {
  const range = settings.dns?.fakeRange;
  const domains = new Set(settings.dns?.domains);
  for (const { pattern, transport } of rules) {
    const built = transports.byName.get(transport);
    if (pattern.kind !== "name" || !built) continue;
    const isWay = range !== undefined && built.type !== "direct" && built.type !== "reject";
    if (built.transport.names || isWay) domains.add(pattern.name);
  }
  const reverse = range ? reverseZones(range) : [];
  return [...[...domains].filter((domain) => !isInside(domain, domains)).sort(), ...reverse];
}

function isInside(domain: string, domains: ReadonlySet<string>): boolean {
  for (let at = domain.indexOf("."); at >= 0; at = domain.indexOf(".", at + 1)) {
    if (domains.has(domain.slice(at + 1))) return true;
  }
  return false;
}

/** The zones of the names of its addresses, each of two numbers, where they are not too many. */
function reverseZones(range: FakeRange): string[] {
  const count = Math.ceil(range.size / 65_536);
  if (count > mostReverseZones) return [];
  return Array.from({ length: count }, (_, at) => {
    const [first, second] = addressAt(range, at * 65_536).split(".");
    return `${second}.${first}.in-addr.arpa`;
  });
}
