import { isMapping, maskedUrl, type Problem, suggestion } from "../config/mod.ts";
import type { Files } from "../world/mod.ts";
import { conflicts, type Rule, type WrittenPattern } from "../routing/mod.ts";
import { implicitNames } from "../transports/mod.ts";
import { isAmong, listenAddresses } from "./own_addresses.ts";
import type { Settings } from "./settings.ts";

/**
 * Finds routes, a default and catalogues with an unknown transport. Checks the raw configuration, so that an
 * error elsewhere does not hide these problems.
 */
export function transportNameProblems(value: unknown): Problem[] {
  if (!isMapping(value)) return [];
  const known = transportNames(isMapping(value.transports) ? value.transports : {});
  const problems: Problem[] = [];
  const check = (name: unknown, path: Problem["path"]) => {
    if (typeof name !== "string" || name === "" || known.has(name)) return;
    problems.push({ path, message: noTransport(name, known) });
  };
  for (const [index, route] of (Array.isArray(value.routes) ? value.routes : []).entries()) {
    if (isMapping(route)) check(route.via, ["routes", index, "via"]);
  }
  check(value.default, ["default"]);
  for (const [index, catalogue] of (Array.isArray(value.catalogues) ? value.catalogues : []).entries()) {
    if (!isMapping(catalogue)) continue;
    check(catalogue.via, ["catalogues", index, "via"]);
    if (isMapping(catalogue.oidc)) check(catalogue.oidc.via, ["catalogues", index, "oidc", "via"]);
  }
  return problems;
}

/** Finds unknown transports in the lines of long lists. */
export function transportNameLines({ transports }: Settings, rules: readonly Rule[]): string[] {
  const known = transportNames(transports);
  return rules
    .filter(({ transport }) => !known.has(transport))
    .map(({ transport, source, place = source }) => `${place}: ${noTransport(transport, known)}`);
}

/** Returns the names of all transports; another check reports a file that redefines a built-in one. */
function transportNames(transports: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  return new Set([...Object.keys(transports), ...implicitNames]);
}

function noTransport(name: string, known: ReadonlySet<string>): string {
  // The user may have meant a URL as a transport, and it may contain a password.
  return `names the unknown transport "${maskedUrl(name)}"${
    suggestion(name, known) || `: known transports are ${[...known].join(", ")}`
  }`;
}

/** Reports equal rules with different transports. */
export function conflictLines(rules: readonly Rule[]): string[] {
  return conflicts(rules).map(({ kept, ignored }) =>
    `${
      ignored.place ?? ignored.source
    }: "${ignored.text}" goes to ${ignored.transport} here and to ${kept.transport} in ` +
    `${kept.source}: remove one of them`
  );
}

/** Finds names for the DNS server that have no addresses, and addresses without a DNS server. */
export function dnsProblems({ dns, listen, transports }: Settings): Problem[] {
  if (dns?.loopback && !listen?.dns) {
    const message = "has no effect without a DNS server: set listen.dns, for example to 127.0.0.1:1053";
    return [{ path: ["dns", "loopback"], message, severity: "warning" }];
  }
  if (dns?.loopback && listen?.auth) {
    const message = "has no passwords, unlike listen.auth: any local user can connect to the names";
    return [{ path: ["dns", "loopback"], message, severity: "warning" }];
  }
  const hasClusters = Object.values(transports).some(({ kind }) => kind === "kubernetes");
  if (!dns?.domains || dns.fakeRange || dns.loopback || hasClusters) return [];
  const message = "has no addresses for its answers: set dns.fakeRange, for example to 198.18.0.0/15";
  return [{ path: ["dns", "domains"], message, severity: "warning" }];
}

/** Finds rules that use a cluster's table, but whose transport has none. */
export function tableProblems({ routes, direct, transports }: Settings): Problem[] {
  const problems: Problem[] = [];
  const look = (patterns: readonly WrittenPattern[], via: string, path: Problem["path"]) => {
    const asked = patterns.filter(({ pattern: { kind } }) => kind === "services" || kind === "clusterips");
    const why = asked.length === 0 ? undefined : withoutTable(via, transports);
    if (why === undefined) return;
    const message = `matches nothing for ${asked.map(({ text }) => text).join(" and ")}: ${why}`;
    problems.push({ path, message, severity: "warning" });
  };
  for (const [index, { to, via }] of routes.entries()) look(to, via, ["routes", index, "to"]);
  look(direct, "direct", ["direct"]);
  return problems;
}

/** Returns why a transport has no table; undefined for one that has a table or does not exist. */
function withoutTable(via: string, transports: Settings["transports"]): string | undefined {
  const { kind, settings } = Object.hasOwn(transports, via) ? transports[via] ?? {} : {};
  if (kind === undefined && !implicitNames.includes(via)) return undefined;
  if (kind !== "kubernetes") {
    return `"${via}" has no table of Services; use a transport of kind kubernetes`;
  }
  if (!isMapping(settings) || settings["contexts"] === undefined) return undefined;
  return `"${via}" has several contexts, whose names end in CONTEXT.SUFFIX; use a transport with one context`;
}

/** Finds upstream proxies that are this instance itself. */
export function ownListenerProblems(settings: Settings): Problem[] {
  const own = listenAddresses(settings);
  const problems: Problem[] = [];
  for (const [name, { kind, settings: proxy, via }] of Object.entries(settings.transports)) {
    const isStraight = via === undefined || via === "direct";
    if (kind !== "proxy" || !isStraight || !isAddress(proxy)) continue;
    if (!isAmong(proxy, own)) continue;
    const message = `must not be this instance itself: listen has port ${proxy.port} too`;
    problems.push({ path: ["transports", name, "proxy", "url"], message });
  }
  return problems;
}

/**
 * Finds missing files of proxies. They cause warnings only: each use reads them again, and they may be on a
 * disk that is mounted later.
 */
export async function missingFiles(files: Files, { transports }: Settings): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const [name, { kind, settings }] of Object.entries(transports)) {
    if (kind !== "proxy" || !isMapping(settings)) continue;
    for (const key of ["passwordFile", "ca"]) {
      const file = settings[key];
      if (typeof file !== "string" || await files.info(file).catch(() => undefined)) continue;
      const message = `cannot be read yet: "${file}"; connections through this proxy fail until then`;
      problems.push({ path: ["transports", name, kind, key], message, severity: "warning" });
    }
  }
  return problems;
}

function isAddress(value: unknown): value is { host: string; port: number } {
  return typeof value === "object" && value !== null && "host" in value && "port" in value;
}
