import domains from "tlds" with { type: "json" };

const known: ReadonlySet<string> = new Set(domains);

/** Whether a namespace is called like a public top-level domain: dev, app and shop are some. */
export function isTopLevelDomain(label: string): boolean {
  return known.has(label);
}
