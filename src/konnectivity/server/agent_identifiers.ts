import { normalHost } from "../../words/mod.ts";

/** What an agent says of itself, by which a server may choose it: `host=a&ipv4=10.0.0.1&default-route=true`. */
export interface AgentIdentifiers {
  /** Names and addresses of the places it is the way to, as `normalHost` writes them. */
  readonly hosts: ReadonlySet<string>;
  /** Whether it is the way to everything that has no other. */
  readonly isDefaultRoute: boolean;
}

/** Reads them; kinds that nobody knows are left out, as upstream's server does. */
export function readIdentifiers(text: string): AgentIdentifiers {
  const hosts = new Set<string>();
  let isDefaultRoute = false;
  for (const [kind, value] of new URLSearchParams(text)) {
    if (kind === "default-route") isDefaultRoute ||= value === "true";
    else if (named.has(kind) && value !== "") hosts.add(normalHost(value));
  }
  return { hosts, isDefaultRoute };
}

const named = new Set(["ipv4", "ipv6", "host"]);
