import { isSameBytes, percentDecoded } from "../../core/mod.ts";
import { type IpBytes, isLoopback, parseIp, unmapped } from "../../words/mod.ts";
import { goTrimmed } from "./go_text.ts";
import { isInRange, type NetworkRange, parseNetworkRange } from "./network_range.ts";
import { asciiHost, portOf, type RequestOrigin } from "./request_origin.ts";

/** Whether a request bypasses the proxy. */
export type IsDirect = (target: RequestOrigin) => boolean;

/**
 * Matches like Go's `golang.org/x/net/http/httpproxy`, which consumers of a cluster's proxy use. Loopback is
 * always direct. `example.com` matches itself and its subdomains, `.example.com` and `*.example.com` only the
 * subdomains. An item's port must match. Names are never resolved, and invalid items are skipped.
 */
export function goNoProxy(list: string): IsDirect {
  const names = new Map<string, NamePorts>();
  const networks: NetworkRange[] = [];
  const addresses: { readonly bytes: IpBytes; readonly port: string }[] = [];
  for (const raw of list.split(",")) {
    const item = goTrimmed(raw).toLowerCase();
    if (item === "") continue;
    if (item === "*") return () => true;
    const network = parseNetworkRange(item);
    if (network) {
      networks.push(network);
      continue;
    }
    const { host, port } = splitItem(item);
    const bytes = parseIp(host);
    if (bytes) addresses.push({ bytes: unmapped(bytes), port });
    else if (host !== "") addName(names, host, port);
  }
  return (target) => {
    const written = decodedHost(target);
    const host = asciiHost(written) ?? written;
    const bytes = parseIp(withoutZone(host));
    if (host === "localhost" || (bytes && isLoopback(bytes))) return true;
    const port = portOf(target);
    if (!bytes) return isNamed(names, host.trim().toLowerCase(), port);
    const plain = unmapped(bytes);
    return networks.some((network) => isInRange(plain, network)) ||
      addresses.some((item) => isPort(item.port, port) && isSameBytes(item.bytes, plain));
  };
}

/** Decodes non-ASCII characters in a URL's host (RFC 3986, section 3.2.2). */
function decodedHost({ host, isBracketed }: RequestOrigin): string {
  if (isBracketed || !host.includes("%")) return host;
  // Invalid UTF-8 stays as written.
  return percentDecoded(host) ?? host;
}

/** Removes a zone (RFC 6874): it selects a local link and does not change the address. */
function withoutZone(host: string): string {
  return /^([^%]*:[^%]*)%./s.exec(host)?.[1] ?? host;
}

/** The direct ports of a name and of its subdomains; an empty text is every port. */
interface NamePorts {
  readonly itself: string[];
  readonly below: string[];
}

function addName(names: Map<string, NamePorts>, host: string, port: string): void {
  const written = host.startsWith("*.") ? host.slice(1) : host;
  const isBelowOnly = written.startsWith(".");
  const suffix = isBelowOnly ? written : `.${written}`;
  const name = (asciiHost(suffix) ?? suffix).slice(1);
  let ports = names.get(name);
  if (!ports) names.set(name, ports = { itself: [], below: [] });
  ports.below.push(port);
  if (!isBelowOnly) ports.itself.push(port);
}

/** One lookup per dot of the name, however long the list is. */
function isNamed(names: ReadonlyMap<string, NamePorts>, host: string, port: string): boolean {
  const isOne = (ports: readonly string[] = []) => ports.some((one) => isPort(one, port));
  if (isOne(names.get(host)?.itself)) return true;
  for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
    if (isOne(names.get(host.slice(dot + 1))?.below)) return true;
  }
  return false;
}

/** Splits `host:port` and `[host]:port` like Go's `net.SplitHostPort`; other texts are only a host. */
function splitItem(item: string): { readonly host: string; readonly port: string } {
  const parts = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(item);
  return parts ? { host: parts[1] ?? parts[2] ?? "", port: parts[3] ?? "" } : { host: item, port: "" };
}

function isPort(wanted: string, port: string): boolean {
  return wanted === "" || wanted === port;
}
