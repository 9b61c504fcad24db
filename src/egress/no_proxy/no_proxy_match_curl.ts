import { formatIp, type IpBytes, parseIPv4, parseIPv6 } from "../../words/mod.ts";
import type { IsDirect } from "./no_proxy_match_go.ts";
import { asciiHost, type RequestOrigin } from "./request_origin.ts";

export interface CurlOptions {
  /**
   * Reads the list like curl 8: IPv6 networks count, and the list ends at whitespace without a comma.
   * Otherwise like 7.86 to 7.88: an IPv6 address is a plain name, and whitespace separates items.
   */
  readonly isNewer?: boolean;
}

/**
 * Matches like curl: `*` counts only as the whole list, a leading or trailing dot is ignored, ports,
 * wildcards and brackets are unknown, and a prefix of 0 bits means a single address.
 */
export function curlNoProxy(list: string, { isNewer = false }: CurlOptions = {}): IsDirect {
  if (list === "*") return () => true;
  const items = isNewer ? itemsUntilBlank(list) : list.split(/[ \t,]+/).filter((item) => item !== "");
  return (target) => {
    const host = hostForCurl(target);
    const four = target.isBracketed ? undefined : parseIPv4(host);
    if (four) return items.some((item) => isAddressIn(four, item));
    const six = target.isBracketed && isNewer ? parseIPv6(host) : undefined;
    if (six) return items.some((item) => isAddressIn(six, item));
    return items.some((item) => isNameIn(host, item));
  };
}

/** curl normalizes unusual IPv4 forms to four numbers, and shortens IPv6 addresses. */
function hostForCurl({ host, isBracketed }: RequestOrigin): string {
  if (isBracketed) {
    const bytes = parseIPv6(host);
    return bytes ? formatIp(bytes) : host;
  }
  const plain = asciiHost(host) ?? host;
  const parsed = /^[0-9a-fx.]+$/i.test(plain) ? URL.parse(`http://${plain}/`)?.hostname : undefined;
  return parsed !== undefined && parseIPv4(parsed) ? parsed : plain;
}

function itemsUntilBlank(list: string): string[] {
  const items: string[] = [];
  for (const part of list.split(",")) {
    const [item = "", ...more] = part.replace(/^[ \t]+|[ \t]+$/g, "").split(/[ \t]+/);
    if (item !== "") items.push(item);
    if (more.length > 0) break;
  }
  return items;
}

function isNameIn(host: string, item: string): boolean {
  const name = withoutDot(host).toLowerCase();
  const wanted = withoutDot(item).replace(/^\./, "").toLowerCase();
  return name === wanted || name.endsWith(`.${wanted}`);
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, "");
}

function isAddressIn(address: IpBytes, item: string): boolean {
  const [text = "", length] = item.split("/");
  const network = address.length === 4 ? parseIPv4(text) : parseIPv6(text);
  if (!network) return false;
  // Like C's `atoi`: the leading digits, otherwise 0.
  const bits = Number(/^[ \t]*\+?([0-9]+)/.exec(length ?? "")?.[1] ?? 0) || network.length * 8;
  if (bits > network.length * 8) return false;
  return address.every((byte, index) => {
    const mask = 0xff00 >> Math.min(8, Math.max(0, bits - index * 8)) & 0xff;
    return (byte & mask) === ((network[index] ?? 0) & mask);
  });
}
