import { isSameBytes, percentDecoded } from "../../core/mod.ts";
import { type IpBytes, isLoopback, parseIp, unmapped } from "../../words/mod.ts";
import { goTrimmed } from "./go_text.ts";
import { isInRange, type NetworkRange, parseNetworkRange } from "./network_range.ts";
import { asciiHost, portOf, type RequestOrigin } from "./request_origin.ts";

/** Whether a request goes past the proxy. */
export type IsDirect = (target: RequestOrigin) => boolean;

/**
 * The matcher of Go's `golang.org/x/net/http/httpproxy`, by which the consumers of a cluster's proxy go: loopback is
 * always direct, `example.com` is itself and below, `.example.com` and `*.example.com` below only, a port narrows, and
 * names are never resolved. What it cannot read it skips.
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

/** What is no ASCII may be encoded in the name of a URL (RFC 3986, section 3.2.2). */
function decodedHost({ host, isBracketed }: RequestOrigin): string {
  if (isBracketed || !host.includes("%")) return host;
  // What is no UTF-8 means itself.
  return percentDecoded(host) ?? host;
}

/** A zone (RFC 6874) tells of this machine's links, and makes no other address and no name. */
function withoutZone(host: string): string {
  return /^([^%]*:[^%]*)%./s.exec(host)?.[1] ?? host;
}

/** The ports for which a name, or what is below it, goes direct; an empty text is every port. */
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

/** One look for each dot of the name, however long the list is. */
function isNamed(names: ReadonlyMap<string, NamePorts>, host: string, port: string): boolean {
  const isOne = (ports: readonly string[] = []) => ports.some((one) => isPort(one, port));
  if (isOne(names.get(host)?.itself)) return true;
  for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
    if (isOne(names.get(host.slice(dot + 1))?.below)) return true;
  }
  return false;
}

/** `host:port` and `[host]:port`, as Go's `net.SplitHostPort` has them; anything else is a host alone. */
function splitItem(item: string): { readonly host: string; readonly port: string } {
  const parts = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(item);
  return parts ? { host: parts[1] ?? parts[2] ?? "", port: parts[3] ?? "" } : { host: item, port: "" };
}

function isPort(wanted: string, port: string): boolean {
  return wanted === "" || wanted === port;
}
