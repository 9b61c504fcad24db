import { normalHost } from "../../words/mod.ts";

/**
 * The identifiers of an agent, by which a server may choose it: `host=a&ipv4=10.0.0.1&default-route=true`.
 */
export interface AgentIdentifiers {
  /** The hosts that this agent serves, as written by `normalHost`. */
  readonly hosts: ReadonlySet<string>;
  /** Whether it serves all targets without another agent. */
  readonly isDefaultRoute: boolean;
}

/** Reads identifiers; ignores unknown kinds, like upstream's server. */
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
