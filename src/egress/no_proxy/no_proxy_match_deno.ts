import { type IpBytes, parseIp } from "../../words/mod.ts";
import type { IsDirect } from "./no_proxy_match_go.ts";
import { isInRange, type NetworkRange, parseNetworkRange } from "./network_range.ts";
import type { RequestOrigin } from "./request_origin.ts";

/**
 * The matcher of Deno's `fetch`: `*` anywhere in the list is every name, a dot in front is passed over, items keep
 * their capitals and so match no host that has them, and addresses are compared with addresses and networks only, so
 * that even `*` is none of them.
 */
export function denoNoProxy(list: string): IsDirect {
  const items = list.split(",").map((item) => item.trim());
  const networks: NetworkRange[] = [];
  const addresses: IpBytes[] = [];
  const names: string[] = [];
  for (const item of items) {
    const network = isCanonicalLength(item) ? parseNetworkRange(item) : undefined;
    const address = parseIp(item);
    if (network) networks.push(network);
    else if (address) addresses.push(address);
    else names.push(item);
  }
  return (target) => {
    const host = hostForDeno(target);
    const address = parseIp(host.replace(/^\[|\]$/g, ""));
    if (!address) return names.some((name) => isNameIn(host, name));
    return addresses.some((one) =>
      one.length === address.length && one.every((byte, at) => byte === address[at])
    ) ||
      networks.some((network) => isInRange(address, network));
  };
}

/** The host as a URL of the web platform has it: in lower case and punycode, addresses in their one form. */
function hostForDeno({ host, isBracketed }: RequestOrigin): string {
  return URL.parse(`http://${isBracketed ? `[${host}]` : host}/`)?.hostname ?? host;
}

function isNameIn(host: string, name: string): boolean {
  if (name === "*" || host === name || `.${host}` === name) return true;
  if (!host.endsWith(name)) return false;
  return name.startsWith(".") || host[host.length - name.length - 1] === ".";
}

function isCanonicalLength(item: string): boolean {
  return /\/(?:0|[1-9][0-9]*)$/.test(item);
}
