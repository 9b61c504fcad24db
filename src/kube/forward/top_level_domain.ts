import domains from "tlds" with { type: "json" };

const known: ReadonlySet<string> = new Set(domains);

/** Whether a label is a public top-level domain, as the namespaces dev, app and shop are. */
export function isTopLevelDomain(label: string): boolean {
  return known.has(label);
}
