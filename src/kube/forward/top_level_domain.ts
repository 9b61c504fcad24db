import domains from "tlds" with { type: "json" };

const known: ReadonlySet<string> = new Set(domains);

/** Whether a namespace has the name of a public top-level domain, such as dev, app or shop. */
export function isTopLevelDomain(label: string): boolean {
  return known.has(label);
}
