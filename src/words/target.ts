import { formatIp, parseIp, parseIPv6 } from "./address.ts";
import { canonicalHost } from "./canonical_host.ts";
import { asCause, PosternError } from "./errors.ts";
import { parseAnyIPv4 } from "./numeric_host.ts";

/** A target: a host in the form of `canonicalHost` (IPv6 without brackets), and a port. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with brackets around IPv6. */
export function formatTarget({ host, port }: Target): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The form for comparing hosts: lower case, without trailing dot and brackets, IP addresses canonical. */
export function normalHost(host: string): string {
  let text = host;
  if (text.charCodeAt(0) === 91 && text.endsWith("]")) text = text.slice(1, -1);
  const last = text.charCodeAt(text.length - 1);
  if (last === 46 && text.length > 1) text = text.slice(0, -1);
  const first = text.charCodeAt(0);
  if (text.includes(":") || (first >= 48 && first <= 57)) {
    const bytes = text.includes(":") ? parseIPv6(text) : parseAnyIPv4(text);
    if (bytes) return formatIp(bytes);
  }
  return text.toLowerCase();
}

/** Reads `host:port`, `[v6]:port`, or `host` with a default port; throws `usage` for other text. */
export function parseTarget(text: string, defaultPort?: number): Target {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+))(?::([0-9]{1,5}))?$/.exec(text);
  const bare = !match && parseIp(text) ? text : undefined;
  const written = bare ?? match?.[1] ?? match?.[2];
  if (written === undefined || match?.[1]?.includes(":") === false) {
    throw unreadable(
      text,
      ": invalid syntax",
      "use, for example, example.com:443, 192.0.2.1:443 or [2001:db8::1]:443",
    );
  }
  const host = canonicalHost(written);
  if (typeof host !== "string") throw unreadable(text, `: ${host.problem}`, host.hint);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (port === undefined || port < 0 || port > 65535) {
    throw unreadable(
      text,
      port === undefined ? ": missing port" : ": the port is over 65535",
      `use, for example, ${formatTarget({ host, port: 443 })}`,
    );
  }
  return { host, port };
}

/** Removes "Cannot reach TARGET: " from another postern's error, because our sentence already names the target. */
export function toldOf(target: Target, sentence: string): string {
  const said = `Cannot reach ${formatTarget(target)}: `;
  return sentence.startsWith(said) ? sentence.slice(said.length) : asCause(sentence);
}

/** The target of a URL; without a port, the default port of its scheme. */
export function targetOf({ protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">): Target {
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? usualPorts[protocol] ?? 1080 : Number(port),
  };
}

/** Default ports; all other schemes use the port of SOCKS. */
const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "ws:": 80, "https:": 443, "wss:": 443 };

function unreadable(text: string, why: string, hint: string): PosternError {
  return new PosternError("usage", `Cannot read "${text.slice(0, 300)}" as HOST:PORT${why}`, { hint });
}
