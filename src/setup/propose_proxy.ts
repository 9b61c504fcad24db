import { percentDecoded } from "../core/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import { type Target, targetOf } from "../words/mod.ts";
import {
  type Existing,
  isDecided,
  type Proposal,
  type ProposedRoute,
  type ProposedSecret,
  type ProposedTransport,
  ruleForTarget,
  rulesOf,
  type TransportNames,
} from "./proposal.ts";

/** The proxy variables of the environment; empty ones are missing. */
export type ProxyVariables = Readonly<Record<string, string>>;

export interface ProxySurroundings {
  readonly existing: Existing;
  readonly names: TransportNames;
  /** Whether a proxy is this postern. */
  readonly isOwn: (url: URL) => boolean;
  /** The directory for password files. */
  readonly directory: string;
}

export interface ProxyProposal {
  readonly transports: readonly ProposedTransport[];
  readonly routes: readonly ProposedRoute[];
  readonly fallback?: Proposal["fallback"];
  readonly secrets: readonly ProposedSecret[];
  readonly notes: readonly string[];
  /** The transport for what the environment sends to the proxy, and the exceptions. */
  readonly applies?: { readonly name: string; readonly isExcepted: (target: Target) => boolean };
}

const nothing = { transports: [], routes: [], secrets: [], notes: [] };

/** The proxy of the environment: a transport, the default, and routes for NO_PROXY. */
export function proposeProxy(
  variables: ProxyVariables,
  { existing, names, isOwn, directory }: ProxySurroundings,
): ProxyProposal {
  const notes: string[] = [];
  const found = ["https_proxy", "http_proxy", "all_proxy"].flatMap((name) => {
    const variable = [name.toUpperCase(), name].find((one) => variables[one]);
    if (variable === undefined) return [];
    const url = proxyUrl(variables[variable] ?? "");
    if (!url) notes.push(`${variable}: the value is not the URL of an HTTP or SOCKS5 proxy`);
    return url && !isOwn(url) ? [{ variable, url }] : [];
  });
  const [used] = found;
  if (!used) return { ...nothing, notes };
  const { variable, url } = used;
  for (const other of found.slice(1)) {
    if (placeOf(other.url) === placeOf(url)) continue;
    notes.push(`${other.variable}: postern proposes only one proxy of the environment, that of ${variable}`);
  }
  const excepted = exceptionsOf(variables["NO_PROXY"] || variables["no_proxy"] || "");
  if (excepted === "all") {
    return { ...nothing, notes: [...notes, `${variable}: NO_PROXY turns the proxy off`] };
  }
  const before = Object.entries(existing.transports).find(([, { kind, settings }]) =>
    kind === "proxy" && isSamePlace(settings, url)
  );
  const exceptions = noProxyRules(excepted.patterns);
  const isExcepted = (target: Target) => ruleForTarget(target, exceptions) !== undefined;
  if (before) return { ...nothing, notes, applies: { name: before[0], isExcepted } };
  const name = names.free("proxy");
  const path = `${directory}/${name}.password`;
  const password = percentDecoded(url.password) ?? url.password;
  // A user without a password is not a setting; the check of the proxy tells whether it is missing.
  const user = password === "" ? "" : percentDecoded(url.username) ?? url.username;
  const transport: ProposedTransport = {
    kind: "proxy",
    name,
    settings: {
      url: placeOf(url),
      user: user === "" ? undefined : user,
      passwordFile: password === "" ? undefined : path,
    },
    reason: `The proxy in ${variable}${
      password === "" ? "" : `; its password moves to a file only you can read`
    }`,
    server: targetOf(url),
  };
  const secrets = password === "" ? [] : [{ path, text: `${password}\n`, variable, transport: name }];
  const made = { transports: [transport], secrets, applies: { name, isExcepted } };
  if (existing.hasDefault) {
    notes.push(
      `${variable}: "default" or a rule for any is set already; to use the proxy, name ${name} there`,
    );
    return { ...made, routes: [], notes };
  }
  const to = [...usualExceptions, ...excepted.patterns].filter((text) => !isDecided(text, existing.rules));
  if (excepted.ignored.length > 0) {
    notes.push(`NO_PROXY: postern cannot express ${excepted.ignored.join(", ")}`);
  }
  return {
    ...made,
    routes: to.length === 0
      ? []
      : [{ to, via: "direct", reason: "This machine, and the targets in NO_PROXY" }],
    fallback: { name, reason: `${variable} sends all other targets there` },
    notes,
  };
}

/** The machine itself, which a proxy elsewhere cannot reach. */
const usualExceptions = ["localhost", "127.0.0.0/8", "::1"];

function noProxyRules(patterns: readonly string[]) {
  return rulesOf([{ to: [...usualExceptions, ...patterns], via: "direct", reason: "" }]);
}

/** Reads a proxy variable as curl and Go do: without a scheme, it is an HTTP proxy. */
function proxyUrl(value: string): URL | undefined {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  return url && url.hostname !== "" && /^(?:https?|socks5h?):$/.test(url.protocol) ? url : undefined;
}

/** The URL without credentials and path. */
function placeOf({ protocol, host }: URL): string {
  return `${protocol}//${host}`;
}

function isSamePlace(settings: unknown, url: URL): boolean {
  if (typeof settings !== "object" || settings === null || !("host" in settings) || !("port" in settings)) {
    return false;
  }
  const { host, port } = targetOf(url);
  return settings.host === host && settings.port === port;
}

/** The patterns of a NO_PROXY list, and the items that no pattern expresses. */
function exceptionsOf(list: string): "all" | { readonly patterns: string[]; readonly ignored: string[] } {
  const patterns: string[] = [];
  const ignored: string[] = [];
  for (const item of list.split(/[\s,]+/).filter((item) => item !== "")) {
    if (item === "*") return "all";
    // In NO_PROXY a leading dot or "*." changes nothing: the item stands for a domain and everything below.
    const text = /^\[?[0-9a-f.:/]*:[0-9a-f.:/]*\]?$/i.test(item)
      ? item.replace(/^\[(.*)\]$/, "$1")
      : item.replace(/^\*?\./, "");
    if ("problem" in parsePattern(text) || /[*?]/.test(text)) ignored.push(item);
    else if (!usualExceptions.includes(text) && !patterns.includes(text)) patterns.push(text);
  }
  return { patterns: patterns.filter((text) => text !== "127.0.0.1"), ignored };
}
