import { type FarDomain, withEscapes } from "../core/mod.ts";
import { formatTarget, parseIp, parseTarget, PosternError, unmapped } from "../words/mod.ts";
import {
  clusterLabels,
  clusterNetworks,
  localDomains,
  mayBeClusterName,
  publicDomains,
} from "./first_contact.ts";
import { pacScript } from "./pac_script.ts";
import type { Pattern } from "./pattern.ts";
import type { Router } from "./router.ts";
import { labelCount, rankOf, type Rule, ruleRank } from "./rule.ts";

export interface PacOptions {
  /** The address of the listener for browsers: `127.0.0.1:12000`. */
  readonly listener: string;
  /**
   * Set when the listener requires a password: browsers cannot send one over SOCKS5, so they use the HTTP
   * proxy.
   */
  readonly hasAuth?: boolean;
  /** Whether the listener accepts no SOCKS. */
  readonly isHttpOnly?: boolean;
}

/**
 * Returns a script that sends to postern exactly the targets that the router sends to a transport, and
 * connects to the rest directly. It never resolves names, and has no fallback: if postern is down, a browser
 * must not try such a host directly.
 */
export function pacFile(
  router: Router,
  { listener, hasAuth = false, isHttpOnly = false }: PacOptions,
): string {
  const confined = new Map<string, Rule[]>();
  const shared: Rule[] = [];
  for (const rule of router.rules) {
    if (!rule.confined || rule.owner === undefined) shared.push(rule);
    else if (!confined.get(rule.owner)?.push(rule)) confined.set(rule.owner, [rule]);
  }
  const owners = new Map([...confined.keys()].map((owner, index) => [owner, index]));
  const lines = [
    `var PROXY = ${quoted(`${hasAuth || isHttpOnly ? "PROXY" : "SOCKS5"} ${authorityOf(listener)}`)};`,
    `var DEFAULT = ${verdict(router.fallback, router)};`,
    ...indexLines("RULES", shared, { router, owners }),
    ...holdLines(router),
    "var OWN = {};",
    ...[...confined].flatMap(([owner, rules]) => indexLines(`OWN[${owners.get(owner)}]`, rules, { router })),
  ];
  return `${lines.join("\n")}\n\n${pacScript}\n`;
}

/**
 * Builds the data about clusters' targets: everything that the router holds back for an unknown cluster, and
 * what is learned by now. Browsers cache the file for long, so it does not depend on which clusters answer;
 * postern decides per request.
 */
function holdLines({ rules, domains }: Router): string[] {
  const guarded = rules.filter(({ transport }) => domains.has(transport));
  const portsOf = (kind: Pattern["kind"]): string => {
    const ports = guarded.filter(({ pattern }) => pattern.kind === kind).map(({ pattern: { port } }) => port);
    if (ports.length === 0) return "null";
    return ports.includes(undefined) ? "[]" : `[${[...new Set(ports)]}]`;
  };
  const learned = [...domains.values()].filter((domain) => domain !== undefined);
  const networks = [...clusterNetworks, ...learned.flatMap(({ networks }) => networks)];
  const addresses = learned.flatMap(({ addresses }) => [...addresses]).flatMap((text) => parseIp(text) ?? []);
  const all = [...networks, ...addresses.map((bytes) => ({ bytes, bits: bytes.length * 8 }))];
  const lengths = (bytes: number) =>
    [...new Set(all.filter((one) => one.bytes.length === bytes).map(({ bits }) => bits))].sort((a, b) =>
      a - b
    );
  const keys = new Set([
    ...all.map(({ bytes, bits }) => `${bits}/${bytes.join(".")}`),
    ...learned.flatMap(({ namespaces }) => [...namespaces].map((name) => `#${name}`)),
    ...learned.flatMap((domain) =>
      [...domain.services].filter((name) => isAlone(name, domain)).map((name) => `@${name}`)
    ),
    ...localDomains.map((name) => `!${name}`),
    ...publicDomains.map((name) => `!!${name}`),
  ]);
  const [names, ips] = [portsOf("services"), portsOf("clusterips")];
  return [
    `var HOLD = { names: ${names}, addresses: ${ips}, index: {}, fours: [${lengths(4)}], sixes: [${
      lengths(16)
    }] };`,
    ...(guarded.length === 0 ? [] : [`add(HOLD.index, true, ${quoted([...keys].join(" "))});`]),
  ];
}

/**
 * Whether only the Service itself, not its namespace, marks its name and its pods' names as the cluster's.
 */
function isAlone(service: string, { namespaces }: FarDomain): boolean {
  const labels = clusterLabels(service);
  if (!labels) return false;
  return !mayBeClusterName(labels) || (labels.length === 2 && !namespaces.has(labels[1] ?? ""));
}

interface Group {
  readonly numbers: readonly number[];
  readonly keys: string[];
}

/**
 * Builds the statements that fill one index; rules with the same verdict are added together, so that each
 * name costs only itself.
 */
function indexLines(
  variable: string,
  rules: readonly Rule[],
  { router, owners }: { router: Router; owners?: ReadonlyMap<string, number> },
): string[] {
  const groups = new Map<string, Group>();
  const seen = new Set<string>();
  const lengths = { 4: new Set<number>(), 16: new Set<number>() };
  for (const rule of rules) {
    const { pattern } = rule;
    if (pattern.kind === "network") lengths[pattern.bytes.length === 4 ? 4 : 16].add(pattern.bits);
    const owner = rule.tier === "catalogue" && rule.owner !== undefined ? owners?.get(rule.owner) ?? -1 : -1;
    const tier = Math.floor(ruleRank(rule) / rankOf.tier) * rankOf.tier;
    const place = [tier, pattern.port ?? 0, formOf(pattern)];
    const numbers = [...place, verdict(rule.transport, router), owner];
    for (const key of keysOf(rule, router)) {
      // As in the router, the first of two equal rules counts.
      const known = `${place} ${key}`;
      if (seen.has(known)) continue;
      seen.add(known);
      const group = groups.get(`${numbers}`);
      if (group) group.keys.push(key);
      else groups.set(`${numbers}`, { numbers, keys: [key] });
    }
  }
  const sorted = (values: Set<number>) => `[${[...values].sort((a, b) => a - b)}]`;
  const start = `{ index: {}, fours: ${sorted(lengths[4])}, sixes: ${sorted(lengths[16])} }`;
  return [
    `${variable.startsWith("OWN") ? "" : "var "}${variable} = ${start};`,
    ...[...groups.values()].map(({ numbers, keys }) =>
      `add(${variable}.index, [${numbers}], ${quoted(keys.join(" "))});`
    ),
  ];
}

function formOf(pattern: Pattern): number {
  if (pattern.kind === "name") return { tree: 3, below: 4, exact: 5 }[pattern.scope];
  return { any: 0, local: 1, services: 2, clusterips: 2, network: 6 }[pattern.kind];
}

function keysOf({ pattern, transport }: Rule, router: Router): string[] {
  const table = router.tables.get(transport);
  switch (pattern.kind) {
    case "any":
    case "local":
      return [pattern.kind];
    case "name":
      return [`.${pattern.name}`];
    case "network":
      return [`${pattern.bits}/${pattern.bytes.join(".")}`];
    case "services":
      return [...table?.services ?? []].filter((name) => labelCount(name) <= 2 && !/\s/.test(name)).map((
        name,
      ) => `@${name}`);
    case "clusterips":
      return [...table?.addresses ?? []].flatMap((address) => {
        const bytes = parseIp(address);
        return bytes ? [`@${unmapped(bytes).join(".")}`] : [];
      });
  }
}

/** 0 is direct, 1 goes through the instance, 2 is rejected by the instance. */
function verdict(transport: string, { rejecting }: Pick<Router, "rejecting">): 0 | 1 | 2 {
  if (transport === "direct") return 0;
  return rejecting.has(transport) ? 2 : 1;
}

/** Validates the listener's address: other text could add a second proxy. */
function authorityOf(listener: string): string {
  const { host, port } = parseTarget(listener);
  if (!/^[a-z0-9.:_-]+$/i.test(host)) {
    throw new PosternError("usage", `Cannot write "${host}" into a PAC file: not a host`);
  }
  return formatTarget({ host, port });
}

/** Quotes a literal so that it cannot end its line, or a script element that contains it. */
function quoted(text: string): string {
  return withEscapes(JSON.stringify(text), /[<>\u2028\u2029\u007f-\uffff]/g);
}
