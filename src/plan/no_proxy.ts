import type { Target } from "../words/mod.ts";
import { goNoProxy } from "../egress/mod.ts";

/** Reads a cluster's no-proxy list as its consumers do, by Go's rules. */
export function noProxy(list: string): (target: Target) => boolean {
  const isDirect = goNoProxy(list);
  return ({ host, port }) =>
    isDirect({
      scheme: port === 80 ? "http" : "https",
      host,
      isBracketed: host.includes(":"),
      port: String(port),
    });
}
