import { parsePort } from "./ssh_config_numbers.ts";

/** A host in the notation of ssh's command line and `ProxyJump`. */
export interface SshDestination {
  readonly user?: string;
  readonly host: string;
  readonly port?: number;
}

/** More hops than any real configuration has. */
const mostJumps = 64;

/**
 * Reads the value of `ProxyJump`, nearest hop first; `none` gives an empty list, an invalid value undefined.
 * Like OpenSSH, it stops at the first blank.
 */
export function parseSshJumps(value: string): readonly SshDestination[] | undefined {
  const text = value.replace(/^[ \t=]+/, "").split(/[ \t#]/, 1)[0] ?? "";
  if (text.toLowerCase() === "none") return [];
  const items = text.split(",");
  if (items.length > mostJumps) return undefined;
  const jumps: SshDestination[] = [];
  for (const item of items) {
    const jump = parseSshDestination(item);
    if (!jump) return undefined;
    jumps.push(jump);
  }
  return jumps;
}

/** Reads `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6 addresses in brackets. */
export function parseSshDestination(text: string): SshDestination | undefined {
  if (/^ssh:\/\//i.test(text)) return parseUri(text.slice("ssh://".length));
  return withUser(text, (user) => user);
}

function parseUri(text: string): SshDestination | undefined {
  const end = text.indexOf("/");
  if (end >= 0 && end !== text.length - 1) return undefined;
  // After ";" a draft defines parameters that no program implements; ssh drops them too.
  return withUser(end < 0 ? text : text.slice(0, end), (user) => percentDecoded(user.split(";", 1)[0] ?? ""));
}

function withUser(
  text: string,
  read: (user: string) => string | undefined,
): SshDestination | undefined {
  const at = text.lastIndexOf("@");
  const place = parseHostPort(text.slice(at + 1));
  if (!place || at < 0) return place;
  const user = read(text.slice(0, at));
  return user ? { user, ...place } : undefined;
}

function parseHostPort(text: string): SshDestination | undefined {
  const bracketed = /^\[([^\]]+)\](?::(.*))?$/.exec(text);
  const plain = /^([^:/[\]]+)(?::([^/]*))?$/.exec(text);
  const [, host, port = ""] = bracketed ?? plain ?? [];
  // ssh would read a host that starts with "-" as an option.
  if (!host || host.startsWith("-")) return undefined;
  if (port === "") return { host };
  const number = parsePort(port);
  return number === undefined ? undefined : { host, port: number };
}

function percentDecoded(text: string): string | undefined {
  return text.replace(/%[0-9a-f]{2}/gi, "").includes("%")
    ? undefined
    : text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
