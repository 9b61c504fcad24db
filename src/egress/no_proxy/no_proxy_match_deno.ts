import { type IpBytes, parseIp } from "../../words/mod.ts";
import type { IsDirect } from "./no_proxy_match_go.ts";
import { isInRange, type NetworkRange, parseNetworkRange } from "./network_range.ts";
import type { RequestOrigin } from "./request_origin.ts";

/**
 * Matches like Deno's `fetch`: `*` anywhere in the list matches every name, and a leading dot is ignored.
 * Items keep their case, so an uppercase item matches no host. Addresses match only addresses and networks,
 * not even `*`.
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

/** The host as the web platform's `URL` returns it: lowercase punycode, addresses in canonical form. */
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
