import type { Target } from "../words/mod.ts";
import { parsePattern, Router, type Rule } from "../routing/mod.ts";
import { formatIp } from "../words/mod.ts";
import type { Settings } from "../plan/mod.ts";

/** A value of the configuration, written on one line. */
export type Flow = string | readonly string[] | { readonly [key: string]: Flow | undefined };

/** A new transport of the configuration. */
export interface ProposedTransport {
  readonly kind: "ssh" | "kubernetes" | "proxy";
  readonly name: string;
  /** The settings of its kind, as in the configuration. */
  readonly settings: Flow;
  readonly via?: string | undefined;
  /** Why postern proposes it, and where it was found. */
  readonly reason: string;
  /** The server that it needs: the API server or the proxy. */
  readonly server?: Target;
  /** The transports that may reach the server when a direct connection cannot. */
  readonly candidates?: readonly string[];
}

/** A new route of the configuration. */
export interface ProposedRoute {
  readonly to: readonly string[];
  readonly via: string;
  readonly reason: string;
  /** A route without evidence: postern writes it as a comment. */
  readonly isGuess?: boolean;
  /** A host that the route is for. */
  readonly example?: Target;
}

export interface ProposedCatalogue {
  readonly url: URL;
  readonly name: string;
  /** How to sign in, as in the configuration. */
  readonly oidc?: Flow;
  readonly reason: string;
  readonly via?: string | undefined;
  /** The transports that may reach it when a direct connection cannot. */
  readonly candidates?: readonly string[];
}

/** A password from the environment, and the file for it. */
export interface ProposedSecret {
  readonly path: string;
  readonly text: string;
  readonly variable: string;
  /** The name of the transport that reads the file. */
  readonly transport: string;
}

/** Everything to add to a configuration. */
export interface Proposal {
  readonly listen?: { readonly address: string; readonly reason: string };
  readonly transports: readonly ProposedTransport[];
  readonly routes: readonly ProposedRoute[];
  readonly fallback?: { readonly name: string; readonly reason: string };
  readonly catalogues: readonly ProposedCatalogue[];
  readonly secrets: readonly ProposedSecret[];
  /** What postern found and does not propose, with the reason. */
  readonly notes: readonly string[];
}

/** The configuration before the proposal. */
export interface Existing {
  readonly transports: Settings["transports"];
  readonly rules: readonly Rule[];
  readonly catalogues: readonly { readonly url: string; readonly name: string }[];
  /** The names of stored catalogues that postern uses as long as the configuration names none. */
  readonly unnamed: readonly string[];
  readonly hasDefault: boolean;
  readonly hasListen: boolean;
  /** The transports of clusters, by the identity of their API server. */
  readonly servers: ReadonlyMap<string, string>;
}

/** The names of transports; new ones do not repeat old ones. */
export class TransportNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set([...taken, "direct", "reject"]);
  }

  /** A free name like the wanted one. */
  free(wanted: string): string {
    const plain = wanted.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 58) ||
      "found";
    let name = plain;
    for (let count = 2; this.#taken.has(name); count++) name = `${plain}-${count}`;
    this.#taken.add(name);
    return name;
  }
}

/** Whether rules other than `any` already decide all targets of a pattern. */
export function isDecided(text: string, rules: readonly Rule[]): boolean {
  const parsed = parsePattern(text);
  if ("problem" in parsed) return false;
  const { pattern } = parsed;
  const hosts = pattern.kind === "network" ? [formatIp(pattern.bytes)] : pattern.kind === "name"
    ? [
      ...pattern.scope === "below" ? [] : [pattern.name],
      ...pattern.scope === "exact" ? [] : [`postern-setup.${pattern.name}`],
    ]
    : [];
  // A rule for one port or for a part of the network leaves the other targets undecided.
  const isWide = ({ pattern: { port, ...one } }: Rule) =>
    (port === undefined || port === pattern.port) &&
    !(one.kind === "network" && pattern.kind === "network" && one.bits > pattern.bits);
  return hosts.length > 0 && hosts.every((host) => {
    const target = { host, port: pattern.port ?? 443 };
    const rule = ruleForTarget(target, rules);
    return rule !== undefined && (isWide(rule) || ruleForTarget(target, rules.filter(isWide)) !== undefined);
  });
}

/** The rules of a catalogue are many, and every host is compared with them. */
const routers = new WeakMap<readonly Rule[], Router>();

/** The rule other than `any` that decides a target. */
export function ruleForTarget(target: Target, rules: readonly Rule[]): Rule | undefined {
  let router = routers.get(rules);
  if (!router) {
    router = new Router({ rules: rules.filter(({ pattern }) => pattern.kind !== "any") });
    routers.set(rules, router);
  }
  return router.route(target).rule;
}

/**
 * The transport to a server that a rule of the configuration decides. A transport of a catalogue cannot be the path
 * of another one.
 */
export function existingPath(
  server: Target,
  { rules, transports }: Pick<Existing, "rules" | "transports">,
): { readonly via?: string; readonly candidates?: readonly string[] } | { readonly owner: string } {
  const rule = ruleForTarget(server, rules);
  if (!rule) return {};
  const { text, transport, source } = rule;
  if (transport === "direct") return { candidates: [] };
  const isUsable = transport === "reject" || Object.hasOwn(transports, transport);
  return isUsable ? { via: transport } : { owner: `rule ${text} (${source})` };
}

/** Adds the transports whose path uses one of these. */
export function addThoseBehind(
  names: Set<string>,
  transports: readonly Pick<ProposedTransport, "name" | "via">[],
): void {
  const behind = () => transports.find(({ name, via = "" }) => !names.has(name) && names.has(via));
  for (let one = behind(); one; one = behind()) names.add(one.name);
}

/** The rules of proposed routes. */
export function rulesOf(routes: readonly ProposedRoute[]): Rule[] {
  return routes.filter(({ isGuess }) => !isGuess).flatMap(({ to, via }) =>
    to.flatMap((text): Rule[] => {
      const parsed = parsePattern(text);
      if ("problem" in parsed) return [];
      return [{ text, pattern: parsed.pattern, transport: via, source: "setup", tier: "routes" }];
    })
  );
}

/** A text as a YAML scalar on one line. */
function scalar(text: string): string {
  const isPlain = /^(?:~?\/|[.=]?[A-Za-z0-9])[A-Za-z0-9._/@-]*$/.test(text) && !/^[0-9.]+$/.test(text) &&
    !/^(?:true|false|null|yes|no|on|off|[0-9.]*e[0-9]+|0x[0-9a-f]+)$/i.test(text);
  return isPlain ? text : JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped);
}

/** A value as YAML on one line; a list with one item is written as that item. */
export function flowText(value: Flow): string {
  if (typeof value === "string") return scalar(value);
  if (isList(value)) return value.length === 1 ? scalar(value[0] ?? "") : `[${value.map(scalar).join(", ")}]`;
  const entries = Object.entries(value).flatMap(([key, one]) =>
    one === undefined ? [] : [`${scalar(key)}: ${flowText(one)}`]
  );
  return `{ ${entries.join(", ")} }`;
}

function isList(value: Flow): value is readonly string[] {
  return Array.isArray(value);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** `a`, `a and b`, `a, b and 3 more`. */
export function namesText(names: readonly string[]): string {
  const [first = "", second, third, ...more] = names;
  if (second === undefined) return first;
  if (third === undefined) return `${first} and ${second}`;
  return more.length === 0
    ? `${first}, ${second} and ${third}`
    : `${first}, ${second} and ${more.length + 1} more`;
}
