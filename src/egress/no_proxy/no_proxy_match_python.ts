import { parseIPv4 } from "../../words/mod.ts";
import type { IsDirect } from "./no_proxy_match_go.ts";
import { isInRange, parseNetworkRange } from "./network_range.ts";
import type { RequestOrigin } from "./request_origin.ts";

/**
 * Matches like Python's `urllib.request`: `*` counts only as the whole list, names match with and without the
 * port, and networks are unknown. An IPv6 address keeps the brackets of its URL.
 */
export function urllibNoProxy(list: string): IsDirect {
  if (list === "*") return () => true;
  const names = itemsOf(list);
  return ({ host, isBracketed, port }) => {
    const only = (isBracketed ? `[${host}]` : host).toLowerCase();
    return isNamed(names, [only, port === "" ? only : `${only}:${port}`]);
  };
}

/**
 * Matches like Python's `requests` 2.34 and newer: IPv4 networks of 1 to 32 bits count, names match with and
 * without the port, then urllib's rules apply. Older versions also match `notexample.com` with `example.com`.
 */
export function requestsNoProxy(list: string): IsDirect {
  const items = list.replaceAll(" ", "").split(",").filter((item) => item !== "");
  const names = items.map((item) => item.replace(/^\.+/, ""));
  const isDirectInUrllib = urllibNoProxy(list);
  return (target) => {
    const host = target.host.toLowerCase();
    const address = parseIPv4(host);
    const isListed = address
      ? items.some((item) => {
        const network = isCountedNetwork(item) ? parseNetworkRange(item) : undefined;
        return network ? isInRange(address, network) : item === host;
      })
      : isNamed(names, [host, hasPort(target) ? `${host}:${Number(target.port)}` : host]);
    // requests passes only the host to urllib, without port and brackets.
    return isListed || isDirectInUrllib({ ...target, isBracketed: false, port: "" });
  };
}

function itemsOf(list: string): string[] {
  return list.split(",").map((item) => item.trim()).filter((item) => item !== "").map((item) =>
    item.replace(/^\.+/, "").toLowerCase()
  );
}

function isNamed(names: readonly string[], hosts: readonly string[]): boolean {
  return names.some((name) => hosts.some((host) => host === name || host.endsWith(`.${name}`)));
}

function isCountedNetwork(item: string): boolean {
  const bits = Number(/^[^/]*\/([0-9]+)$/.exec(item)?.[1] ?? 0);
  return bits >= 1 && bits <= 32;
}

function hasPort({ port }: RequestOrigin): boolean {
  return Number(port) > 0;
}
