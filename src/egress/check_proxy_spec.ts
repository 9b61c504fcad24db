import { parseIp } from "../words/mod.ts";
import { checkNoProxy } from "./no_proxy/check_no_proxy.ts";
import { checkProxyUrl, type ProxyField, type ProxyPlace } from "./check_proxy_url.ts";
import { isInRange, parseNetworkRange } from "./no_proxy/network_range.ts";
import { goNoProxy, type IsDirect } from "./no_proxy/no_proxy_match_go.ts";
import { isWithoutProxy, type ProxySpec, type SpecProblem, type SpecReport } from "./proxy_spec.ts";
import { parseRequestUri } from "./no_proxy/request_uri.ts";
import { type RequestOrigin, requestOrigin } from "./no_proxy/request_origin.ts";

export interface CheckOptions {
  /** The cluster's Service, pod and internal networks. A proxy cannot have an address there. */
  readonly clusterNetworks?: readonly string[];
  /** Rejects spaces in the no-proxy list, like the installer. */
  readonly refusesSpaces?: boolean;
}

/** Checks a whole spec and returns every problem and warning with its field. */
export function checkProxySpec(spec: ProxySpec, options: CheckOptions = {}): SpecReport {
  const { httpProxy = "", httpsProxy = "", noProxy = "", readinessEndpoints = [] } = spec;
  const problems: SpecProblem[] = [];
  const warnings: SpecProblem[] = [];
  const take = (report: SpecReport) => {
    problems.push(...report.problems);
    warnings.push(...report.warnings);
  };
  if (httpProxy === "" && httpsProxy === "" && noProxy !== "") {
    const message = "needs a proxy: set httpProxy or httpsProxy, or leave noProxy empty";
    problems.push({ path: ["spec", "noProxy"], reason: "ProxyMissing", message });
  }
  take(checkNoProxy(noProxy, options));
  const isDirect = goNoProxy(noProxy);
  if (httpProxy !== "") take(checkProxy(httpProxy, "httpProxy", { ...options, noProxy, isDirect }));
  if (httpsProxy !== "") take(checkProxy(httpsProxy, "httpsProxy", { ...options, noProxy, isDirect }));
  if (isWithoutProxy(spec)) {
    if (readinessEndpoints.length > 0) {
      const message = "are never probed: the spec names no proxy";
      warnings.push({ path: ["spec", "readinessEndpoints"], reason: "NeverProbed", message });
    }
  } else {
    readinessEndpoints.forEach((url, index) => take(checkEndpoint(url, index, { spec, isDirect })));
  }
  return { problems, warnings };
}

interface ProxyContext extends CheckOptions {
  readonly noProxy: string;
  readonly isDirect: IsDirect;
}

function checkProxy(text: string, field: ProxyField, context: ProxyContext): SpecReport {
  const checked = checkProxyUrl(text, field);
  if ("problem" in checked) return { problems: [checked.problem], warnings: [] };
  const { place, warnings } = checked;
  const path = ["spec", field];
  const network = insideNetwork(place, context.clusterNetworks ?? []);
  if (network !== undefined) {
    const message = `must be outside the cluster: ${place.host} is in the cluster's network ${network}`;
    return { problems: [{ path, reason: "ProxyInsideCluster", message }], warnings };
  }
  // Go connects to loopback directly without any list, and "*" has a separate warning.
  const target = targetOf(place);
  const isListed = context.noProxy !== "*" && context.isDirect(target) && !goNoProxy("")(target);
  if (!isListed) return { problems: [], warnings };
  const message = `is listed in noProxy: requests to ${place.host} itself bypass the proxy`;
  return { problems: [], warnings: [...warnings, { path, reason: "ProxyListed", message }] };
}

function targetOf({ scheme, host, port }: ProxyPlace): RequestOrigin {
  return { scheme, host, isBracketed: host.includes(":"), port: String(port) };
}

function insideNetwork({ host }: ProxyPlace, networks: readonly string[]): string | undefined {
  const address = parseIp(host);
  if (!address) return undefined;
  return networks.find((text) => {
    const network = parseNetworkRange(text);
    return network !== undefined && isInRange(address, network);
  });
}

function checkEndpoint(
  url: string,
  index: number,
  { spec, isDirect }: { readonly spec: ProxySpec; readonly isDirect: IsDirect },
): SpecReport {
  const path = ["spec", "readinessEndpoints", index];
  const fail = (reason: SpecProblem["reason"], message: string): SpecReport => ({
    problems: [{ path, reason, message }],
    warnings: [],
  });
  const uri = parseRequestUri(url);
  if ("problem" in uri) return fail("EndpointMalformed", uri.problem);
  if (uri.scheme !== "http" && uri.scheme !== "https") {
    return fail("EndpointMalformed", "must be a URL that begins with http:// or https://");
  }
  if (uri.host === "") return fail("EndpointMalformed", "must have a host");
  const port = uri.port === undefined || uri.port === "" ? 80 : Number(uri.port);
  if (port < 1 || port > 65535) return fail("EndpointMalformed", "must have a port from 1 to 65535");
  if (endpointProxy(url, spec) === "") {
    return fail(
      "EndpointWithoutProxy",
      "must begin with https:// unless httpProxy is set: httpsProxy serves no http requests",
    );
  }
  const target = requestOrigin(url);
  if (!target || !isDirect(target)) return { problems: [], warnings: [] };
  const message =
    "is probed through the proxy, although clients connect to it directly (noProxy or loopback)";
  return { problems: [], warnings: [{ path, reason: "EndpointListed", message }] };
}

/** The proxy for an endpoint: `httpsProxy` for https if it is set, otherwise `httpProxy`. */
export function endpointProxy(url: string, { httpProxy = "", httpsProxy = "" }: ProxySpec): string {
  return /^https:/i.test(url) && httpsProxy !== "" ? httpsProxy : httpProxy;
}
