import { endsInNumber, formatIp, type IpBytes, parseAnyIPv4, parseIp } from "../words/mod.ts";
import { cut } from "../core/mod.ts";
import { comparableHost } from "./host.ts";

/** The targets that a rule matches. Without a port, a pattern matches every port. */
export type Pattern = NamePattern | NetworkPattern | SpecialPattern;

/** `tree` matches the name and all names below it, `below` only names below it, `exact` only the name. */
export interface NamePattern {
  readonly kind: "name";
  readonly name: string;
  readonly scope: "tree" | "below" | "exact";
  readonly port?: number;
}

/** Matches IP literals in a network; names are never resolved for it. */
export interface NetworkPattern {
  readonly kind: "network";
  /** 4 or 16 bytes; the host bits are zero. */
  readonly bytes: IpBytes;
  readonly bits: number;
  readonly port?: number;
}

/** `any`, `<local>`, and the two that a cluster's table decides. */
export interface SpecialPattern {
  readonly kind: "any" | "local" | "services" | "clusterips";
  readonly port?: number;
}

/** A pattern, possibly with a warning, or the problem of the text. */
export type ParsedPattern =
  | { readonly pattern: Pattern; readonly warning?: string }
  | { readonly problem: string };

const special = { "<local>": "local", "<services>": "services", "<clusterips>": "clusterips" } as const;

/** Matches nearly every line of a long list: a name whose last label no resolver reads as a number. */
const plainName = /^[.=]?(?:[a-z0-9_-]{1,63}\.)*[a-z_][a-z0-9_-]{0,62}$/;

/** Parses a pattern of the configuration, of `--route` or of a list. */
export function parsePattern(text: string): ParsedPattern {
  if (text !== "any" && text.length <= 253 && plainName.test(text)) {
    const scope = text.startsWith(".") ? "below" : text.startsWith("=") ? "exact" : "tree";
    return { pattern: { kind: "name", name: scope === "tree" ? text : text.slice(1), scope } };
  }
  if (text.trim() === "") return { problem: `must be a pattern such as example.com, 10.0.0.0/8 or any` };
  if (/\s/.test(text)) return { problem: `must be one pattern without blanks: current value is "${text}"` };
  if (text.includes("://")) {
    const host = URL.parse(text)?.host;
    return { problem: `must be a host, not a URL: write ${host ? `"${host}"` : "only the host"}` };
  }
  const split = splitPort(text);
  if ("problem" in split) return split;
  const parsed = parseHost(split.host, text);
  if ("problem" in parsed || split.port === undefined) return parsed;
  return { ...parsed, pattern: { ...parsed.pattern, port: split.port } };
}

/** Formats a pattern canonically: equal texts mean equal patterns. */
export function formatPattern(pattern: Pattern): string {
  const port = pattern.port === undefined ? "" : `:${pattern.port}`;
  if (pattern.kind === "name") {
    // The trailing dot distinguishes a domain named "any" from the pattern.
    if (pattern.name === "any" && pattern.scope === "tree") return `any.${port}`;
    return { tree: "", below: ".", exact: "=" }[pattern.scope] + pattern.name + port;
  }
  if (pattern.kind === "network") {
    const full = pattern.bits === pattern.bytes.length * 8;
    const text = formatIp(pattern.bytes) + (full ? "" : `/${pattern.bits}`);
    return port !== "" && pattern.bytes.length === 16 ? `[${text}]${port}` : text + port;
  }
  return (pattern.kind === "any" ? "any" : `<${pattern.kind}>`) + port;
}

function splitPort(text: string): { host: string; port?: number } | { problem: string } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (!bracketed && text.includes("[")) {
    return { problem: `must have its brackets around an IPv6 address: current value is "${text}"` };
  }
  const parts = text.split(":");
  const host = bracketed?.[1] ?? (parts.length === 2 ? parts[0] ?? "" : text);
  const digits = bracketed ? bracketed[2] : parts.length === 2 ? parts[1] : undefined;
  if (bracketed && !host.includes(":")) {
    return { problem: `must have brackets only around an IPv6 address: current value is "${text}"` };
  }
  if (digits === undefined) return { host };
  const port = /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port < 1 || port > 65535) return { problem: `must have a port from 1 to 65535 after ":": "${text}"` };
  return { host, port };
}

function parseHost(host: string, text: string): ParsedPattern {
  if (host.toLowerCase() === "any" || host === "*") return { pattern: { kind: "any" } };
  if (host.startsWith("<")) {
    const kind = Object.entries(special).find(([name]) => name === host.toLowerCase())?.[1];
    if (kind) return { pattern: { kind } };
    return { problem: `must be <local>, <services> or <clusterips>: current value is "${text}"` };
  }
  if (host.includes("/") || host.includes(":")) return parseNetwork(host);
  const wildcard = host.startsWith("*.");
  const exact = host.startsWith("=");
  const below = wildcard || host.startsWith(".");
  const rest = host.slice(wildcard ? 2 : exact || below ? 1 : 0);
  if (parseIp(rest)) {
    if (below) return { problem: `must be an address or a network: ${rest} has no subdomains` };
    return parseNetwork(rest);
  }
  const name = comparableHost(rest);
  const problem = nameProblem(name, text);
  if (problem !== undefined) return { problem };
  return { pattern: { kind: "name", name, scope: exact ? "exact" : below ? "below" : "tree" } };
}

function nameProblem(name: string, text: string): string | undefined {
  if (name.includes("*")) return `must have "*" only at the start, as in "*.example.com": "${text}"`;
  if (name.length > 253) return `must have at most 253 characters: has ${name.length}`;
  const labels = name.split(".");
  if (labels.includes("")) return `must have no empty label (two consecutive dots): "${text}"`;
  const long = labels.find((label) => label.length > 63);
  if (long !== undefined) return `must have labels of at most 63 characters: "${long}" has ${long.length}`;
  const odd = labels.find((label) => !/^[a-z0-9_-]+$/.test(label));
  if (odd !== undefined) return `must be a name, an address or a network: "${odd}" is not a valid label`;
  if (!endsInNumber(name)) return undefined;
  const meant = parseAnyIPv4(name);
  return `must be four numbers from 0 to 255 or a name: ${
    meant ? `write "${formatIp(meant)}" instead of "${text}"` : `"${text}" is neither`
  }`;
}

function parseNetwork(text: string): ParsedPattern {
  const [address = "", length, ...more] = text.split("/");
  const bytes = parseIp(address.replace(/^=/, ""));
  if (!bytes || more.length > 0) {
    return {
      problem:
        `must be an address or a network such as 10.0.0.0/8 or 2001:db8::/32: current value is "${text}"`,
    };
  }
  const max = bytes.length * 8;
  const bits = length === undefined ? max : /^[0-9]{1,3}$/.test(length) ? Number(length) : -1;
  if (bits < 0 || bits > max) return { problem: `must have a prefix length from 0 to ${max}: "${text}"` };
  const network = cut(bytes, bits);
  const isMapped = bytes.length === 16 && bits >= 96 && formatIp(network).startsWith("::ffff:") &&
    network[10] === 255 && network[11] === 255;
  const pattern: NetworkPattern = isMapped
    ? { kind: "network", bytes: network.slice(12), bits: bits - 96 }
    : { kind: "network", bytes: network, bits };
  if (network.every((byte, index) => byte === bytes[index])) return { pattern };
  return {
    pattern,
    warning: `has host bits beyond its prefix, so it means the network ${formatPattern(pattern)}`,
  };
}
