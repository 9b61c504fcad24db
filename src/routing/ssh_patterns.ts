import { formatIp } from "../words/mod.ts";
import type { Pattern } from "./pattern.ts";
import type { Router } from "./router.ts";
import { describeRule, type Rule } from "./rule.ts";

/** The ssh patterns of one rule. */
export interface SshPatterns {
  readonly patterns: readonly string[];
  readonly transport: string;
  readonly because: string;
}

/** A rule that ssh patterns cannot express, and why. */
export interface InexpressibleRule {
  readonly rule: string;
  readonly why: string;
}

export interface RoutedPatterns {
  readonly routed: readonly SshPatterns[];
  readonly left: readonly InexpressibleRule[];
}

export interface RoutedPatternsOptions {
  /** Whether a transport connects through something: not `direct`, and not one that rejects. */
  readonly isRouted: (transport: string) => boolean;
  /** Names that no pattern may match: ssh must connect to them without postern. */
  readonly except: readonly string[];
}

/** How many patterns one network may become: a /12 needs 16. */
const mostOfNetwork = 32;
/** The usual port of ssh. A rule for another port says nothing about ssh. */
const sshPort = 22;

/**
 * Returns the patterns of `Host` lines in an ssh configuration that match the targets of routed rules. They may match
 * more than the rules: postern then routes by its rules anyway.
 */
export function routedPatterns(router: Router, { isRouted, except }: RoutedPatternsOptions): RoutedPatterns {
  const routed: SshPatterns[] = [];
  const left: InexpressibleRule[] = [];
  const leads = (pattern: string) => samplesOf(pattern).some((host) => isRouted(transportOf(router, host)));
  const unrouted = router.rules.flatMap((rule) =>
    isRouted(rule.transport) ? [] : written(rule).filter((pattern) => !leads(pattern))
  );
  const names = [...new Set([...unrouted, ...except])];
  const add = (patterns: readonly string[], transport: string, because: string) => {
    if (patterns.length === 0) return;
    const matches = patterns.map(matcherOf);
    const inside = names.filter((name) => matches.some((match) => match(name)));
    const kept = patterns.filter((pattern) => !inside.includes(pattern));
    if (kept.length === 0) return;
    routed.push({ patterns: [...kept, ...inside.map((name) => `!${name}`)], transport, because });
  };
  for (const rule of router.rules) {
    if (!isRouted(rule.transport) || rule.pattern.kind === "any") continue;
    const because = describeRule(rule);
    const patterns = patternsOf(rule.pattern);
    if ("why" in patterns) left.push({ rule: because, why: patterns.why });
    // A stronger rule may send all targets elsewhere.
    else add(patterns.all.filter(leads), rule.transport, because);
  }
  const any = router.route({ host: "any-name.invalid", port: sshPort });
  if (!isRouted(any.transport)) return { routed, left };
  const rest = ["*", "!localhost", "!127.*", "!::1"];
  return {
    routed: [...routed, {
      patterns: [...rest, ...names.map((name) => `!${name}`)],
      transport: any.transport,
      because: any.because,
    }],
    left,
  };
}

function written({ pattern }: Rule): readonly string[] {
  const patterns = pattern.kind === "any" ? { all: [] } : patternsOf(pattern);
  return "why" in patterns ? [] : patterns.all;
}

/** Hosts that a pattern matches, and hardly another rule inside it. */
function samplesOf(pattern: string): readonly string[] {
  const parts = /^[0-9.*]+$/.test(pattern) ? ["7", "201"] : ["any-name"];
  return parts.map((part) => pattern.replaceAll("*", part));
}

function transportOf(router: Router, host: string): string {
  const route = router.route({ host, port: sshPort });
  return (route.held?.otherwise ?? route).transport;
}

function patternsOf(pattern: Pattern): { readonly all: readonly string[] } | { readonly why: string } {
  const { port = sshPort } = pattern;
  if (port !== sshPort) return { why: `it applies only to port ${port}` };
  switch (pattern.kind) {
    case "name":
      return {
        all: [
          ...pattern.scope === "below" ? [] : [pattern.name],
          ...pattern.scope === "exact" ? [] : [`*.${pattern.name}`],
        ],
      };
    case "network":
      return networkPatterns(pattern.bytes, pattern.bits);
    case "services":
    case "clusterips":
      return { why: "only the cluster knows its names and addresses" };
    case "local":
      return { why: "ssh has no pattern for a name without a dot" };
    case "any":
      return { why: "it matches every host" };
  }
}

function networkPatterns(
  bytes: ArrayLike<number>,
  bits: number,
): { readonly all: readonly string[] } | { readonly why: string } {
  if (bits === bytes.length * 8) return { all: [formatIp(Uint8Array.from(bytes))] };
  if (bytes.length !== 4) return { why: "ssh compares text, and an IPv6 address has many spellings" };
  if (bits === 0) return { all: ["*.*.*.*"] };
  const whole = Math.floor((bits - 1) / 8);
  const count = 2 ** ((whole + 1) * 8 - bits);
  if (count > mostOfNetwork) return { why: `it would need ${count} patterns` };
  const start = Array.from(bytes).slice(0, whole);
  const rest = new Array<string>(3 - whole).fill("*");
  return {
    all: Array.from({ length: count }, (_, at) => [...start, (bytes[whole] ?? 0) + at, ...rest].join(".")),
  };
}

/** Tells whether a pattern matches a name, or all that another pattern matches. */
function matcherOf(pattern: string): (name: string) => boolean {
  if (!pattern.includes("*")) return (name) => name === pattern;
  if (pattern.lastIndexOf("*") === 0) return (name) => name.endsWith(pattern.slice(1));
  const text = new RegExp(`^${pattern.replaceAll(".", "[.]").replaceAll("*", ".*")}$`);
  return (name) => text.test(name);
}
