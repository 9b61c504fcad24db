import { formatIp, formatTarget } from "../words/mod.ts";
import { formatPattern, type NamePattern, type NetworkPattern, parsePattern } from "./pattern.ts";
import { routedInside } from "./routed_inside.ts";
import type { Router } from "./router.ts";

/** Programs whose list has more features than the portable one, or needs another spelling. */
export type Client = "go" | "curl" | "java" | "python";

/** The items of a NO_PROXY list, and notes about patterns that the list cannot express exactly. */
export interface NoProxy {
  readonly items: readonly string[];
  readonly notes: readonly string[];
}

const loopback: Record<Client | "portable", readonly string[]> = {
  portable: ["localhost", "127.0.0.1", "::1"],
  go: ["localhost", "127.0.0.1", "::1"],
  curl: ["localhost", "127.0.0.1", "::1"],
  // urllib would need brackets around an IPv6 address, but httpx fails to read them.
  python: ["localhost", "127.0.0.1", "::1"],
  java: ["localhost", "127.*", "[::1]"],
};

/**
 * Converts patterns to a list with the same meaning for every client, or for the given one. Omits patterns
 * that the router sends to a transport: with them in the list, clients would bypass postern.
 */
export function noProxyFor(direct: readonly string[], router: Router, client?: Client): NoProxy {
  const kind = client ?? "portable";
  const items = new Set<string>();
  const notes = new Set<string>();
  for (const text of direct) {
    const rendered = renderItem(text, router, kind);
    if (rendered.note !== undefined) notes.add(rendered.note);
    for (const item of rendered.items) items.add(item);
  }
  const first = loopback[kind];
  return {
    items: [...first, ...[...items].filter((item) => !first.includes(item)).sort()],
    notes: [...notes],
  };
}

interface Rendered {
  readonly items: readonly string[];
  readonly note?: string;
}

function renderItem(text: string, router: Router, client: Client | "portable"): Rendered {
  const leftOut = (why: string): Rendered => ({ items: [], note: `"${text}" is omitted: ${why}` });
  const parsed = parsePattern(text);
  if ("problem" in parsed) return leftOut(parsed.problem);
  const { pattern } = parsed;
  if (pattern.kind === "any") return leftOut("with it, no connection would use postern");
  if (pattern.kind !== "name" && pattern.kind !== "network") return leftOut("no client supports it");
  const route = routedInside(pattern, router);
  if (route) return leftOut(`postern routes it: ${route.because} to ${route.transport}`);
  if (pattern.port !== undefined) {
    const works = client === "go" ? isHost(pattern) : client === "python" && pattern.kind === "name";
    if (!works) return leftOut(portReasons[client]);
  }
  return pattern.kind === "name" ? renderName(text, pattern, client) : renderNetwork(text, pattern, client);
}

const portReasons: Record<Client | "portable", string> = {
  portable: "only Go supports ports fully; Python supports them partly, curl and Deno not at all",
  curl: "curl does not support ports in this list",
  java: "Java does not support ports in this list",
  go: "Go does not support a port after a network",
  python: "Python does not support a port after an address",
};

function isHost(pattern: NamePattern | NetworkPattern): boolean {
  return pattern.kind === "name" || pattern.bits === pattern.bytes.length * 8;
}

function renderName(text: string, pattern: NamePattern, client: Client | "portable"): Rendered {
  const { name, scope, port } = pattern;
  if (client === "go" && scope !== "exact") return { items: [formatPattern(pattern)] };
  if (client === "java" && scope !== "tree") return { items: [scope === "below" ? `*.${name}` : name] };
  const bare = port === undefined ? name : `${name}:${port}`;
  const items = client === "java" ? [name, `*.${name}`] : [bare];
  if (scope === "tree") return { items };
  const more = scope === "below" ? `${name} itself goes direct too` : `names below ${name} go direct too`;
  return { items, note: `"${text}" is written as ${bare}, the form that all clients support: ${more}` };
}

function renderNetwork(text: string, pattern: NetworkPattern, client: Client | "portable"): Rendered {
  const { bits, bytes, port } = pattern;
  const isSix = bytes.length === 16;
  const leftOut = (why: string): Rendered => ({ items: [], note: `"${text}" is omitted: ${why}` });
  const address = formatIp(bytes);
  if (isHost(pattern)) {
    if (port !== undefined) return { items: [formatTarget({ host: address, port })] };
    if (!isSix) return { items: [address] };
    if (client === "java") return { items: [`[${address}]`] };
    return client === "portable" || client === "python"
      ? { items: [address], note: urllibNote }
      : { items: [address] };
  }
  if (client === "java") {
    if (isSix || bits % 8 !== 0 || bits === 0) {
      return leftOut("Java supports only names, addresses and networks such as 10.*");
    }
    return { items: [`${[...bytes.subarray(0, bits / 8)].join(".")}.*`] };
  }
  const network = `${address}/${bits}`;
  if (bits === 0 && client !== "go") return leftOut("curl treats a prefix of 0 bits as a single address");
  if (isSix && (client === "python" || client === "portable")) {
    return leftOut("Python's httpx fails to read IPv6 networks");
  }
  if (client === "curl") {
    const note = `"${text}" needs curl 7.86 or newer${isSix ? "; IPv6 networks need an even newer one" : ""}`;
    return { items: [network], note };
  }
  return client === "go" ? { items: [network] } : { items: [network], note: urllibNote };
}

const urllibNote = "Python's urllib ignores networks and IPv6 addresses in this list";
