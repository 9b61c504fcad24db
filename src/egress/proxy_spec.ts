import { isMapping, type Path, type Problem } from "../config/mod.ts";

/** The requested proxy: the `spec` of `Proxy/cluster`. */
export interface ProxySpec {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  /** A comma-separated list of names, addresses and networks, as typed. */
  readonly noProxy?: string;
  /** URLs that must respond through the proxy before it is accepted. */
  readonly readinessEndpoints?: readonly string[];
  /** The ConfigMap in `openshift-config` with the proxy's CA. */
  readonly trustedCA?: { readonly name: string };
}

/** The accepted values; consumers read only these. Empty texts when nothing is set. */
export interface ProxyStatus {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/** Why a field has a problem or a warning: one word for conditions and programs. */
export type SpecReason =
  | "Type"
  | "ProxyMissing"
  | "UrlMalformed"
  | "SchemeNotAllowed"
  | "HostMissing"
  | "PortOutOfRange"
  | "ProxyInsideCluster"
  | "NoProxyItem"
  | "NoProxySpace"
  | "EndpointMalformed"
  | "EndpointWithoutProxy"
  | "MatchesNothing"
  | "ClientsDisagree"
  | "EverythingDirect"
  | "ProxyListed"
  | "EndpointListed"
  | "NeverProbed";

/** A problem of one field of a spec, with its one-word reason. */
export interface SpecProblem extends Problem {
  readonly path: Path;
  readonly reason: SpecReason;
}

/** All problems and warnings of a spec. */
export interface SpecReport {
  readonly problems: readonly SpecProblem[];
  readonly warnings: readonly SpecProblem[];
}

/** Reads a spec from the API server or a file, and reports fields with a wrong type. */
export function readProxySpec(
  value: unknown,
): { readonly spec: ProxySpec; readonly problems: SpecProblem[] } {
  const problems: SpecProblem[] = [];
  if (value !== undefined && value !== null && !isMapping(value)) {
    return { spec: {}, problems: [wrongType(["spec"], "a mapping")] };
  }
  const fields = isMapping(value) ? value : {};
  const text = (key: "httpProxy" | "httpsProxy" | "noProxy"): Partial<Record<typeof key, string>> => {
    const written = fields[key];
    if (written === undefined || written === null) return {};
    if (typeof written === "string") return { [key]: written };
    problems.push(wrongType(["spec", key], "a string"));
    return {};
  };
  const spec: ProxySpec = {
    ...text("httpProxy"),
    ...text("httpsProxy"),
    ...text("noProxy"),
    ...readEndpoints(fields["readinessEndpoints"], problems),
    ...readTrustedCa(fields["trustedCA"], problems),
  };
  return { spec, problems };
}

/** Whether a spec names no proxy; then only the CA bundle is checked and written. */
export function isWithoutProxy({ httpProxy = "", httpsProxy = "", noProxy = "" }: ProxySpec): boolean {
  return httpProxy === "" && httpsProxy === "" && noProxy === "";
}

function readEndpoints(
  written: unknown,
  problems: SpecProblem[],
): Pick<ProxySpec, "readinessEndpoints"> {
  if (written === undefined || written === null) return {};
  const path = ["spec", "readinessEndpoints"];
  if (!Array.isArray(written)) {
    problems.push(wrongType(path, "a list of URLs"));
    return {};
  }
  const items: readonly unknown[] = written;
  items.forEach((item, index) => {
    if (typeof item !== "string") problems.push(wrongType([...path, index], "a string"));
  });
  return { readinessEndpoints: items.filter((item) => typeof item === "string") };
}

function readTrustedCa(written: unknown, problems: SpecProblem[]): Pick<ProxySpec, "trustedCA"> {
  if (written === undefined || written === null) return {};
  const path = ["spec", "trustedCA"];
  if (!isMapping(written)) {
    problems.push(wrongType(path, "a mapping"));
    return {};
  }
  const { name = "" } = written;
  if (typeof name !== "string") {
    problems.push(wrongType([...path, "name"], "a string"));
    return {};
  }
  return name === "" ? {} : { trustedCA: { name } };
}

function wrongType(path: Path, expected: string): SpecProblem {
  return { path, reason: "Type", message: `must be ${expected}` };
}
