import type { SshTimes } from "../hops/ssh_pool.ts";
import type { JumpSpec } from "../config/ssh_host.ts";

/** The host for the ssh program. */
export interface OpensshTarget {
  /** A Host of the ssh configuration. */
  readonly alias: string;
  /** The user of a jump specification; it overrides the configuration. */
  readonly user?: string;
  readonly port?: number;
  /** The jump hosts to use instead of the configuration's. */
  readonly jumps?: readonly JumpSpec[];
  /** The configuration to read, as with `ssh -F`. */
  readonly config?: string | undefined;
}

/** Parses the output of `ssh -G`: option names in lower case, the first value of each. */
export function readOptions(printed: string): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  for (const line of printed.split("\n")) {
    const [, name, value] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined && !options.has(name)) options.set(name, value);
  }
  return options;
}

/** The command that prints ssh's configuration of a target. */
export function questionCommand(target: OpensshTarget): string[] {
  return ["ssh", ...whom(target), "-G", "--", target.alias];
}

/** The command that prints ssh's defaults. */
export const usualCommand: readonly string[] = ["ssh", "-F", "none", "-G", "--", "localhost"];

/**
 * The arguments of a master: it opens no port and no session, never prompts, and ends when its server is
 * silent.
 */
export function masterArguments(
  target: OpensshTarget,
  { socket, options, usual, times }: {
    readonly socket: string;
    readonly options: ReadonlyMap<string, string>;
    /** ssh's defaults. */
    readonly usual: ReadonlyMap<string, string>;
    readonly times: SshTimes;
  },
): string[] {
  const set = [
    "BatchMode=yes",
    "ControlPersist=no",
    "ClearAllForwardings=yes",
    "ExitOnForwardFailure=yes",
    "PermitLocalCommand=no",
    "LogLevel=INFO",
    // ssh cannot prompt here; with "yes" it prints the unknown key instead.
    ...options.get("stricthostkeychecking") === "ask" ? ["StrictHostKeyChecking=yes"] : [],
    ...options.get("tunnel") === "false" ? [] : ["Tunnel=no"],
    ...options.get("forkafterauthentication") === "yes" ? ["ForkAfterAuthentication=no"] : [],
    ...options.has("remotecommand") ? ["RemoteCommand=none"] : [],
    ...options.get("ciphers") === usual.get("ciphers") ? quickCiphers(usual.get("ciphers")) : [],
    ...isGiven(options.get("connecttimeout")) ? [] : [`ConnectTimeout=${seconds(times.connectTimeout)}`],
    ...isGiven(options.get("serveraliveinterval")) ? [] : alive(times),
  ];
  // ssh expands tokens in the path of a control socket.
  const path = socket.replaceAll("%", "%%");
  const flags = ["-M", "-N", "-T", "-a", "-x", "-S", path, ...set.flatMap((option) => ["-o", option])];
  return [...whom(target), ...flags, "--", target.alias];
}

/** The sign-in timeout in milliseconds: ConnectTimeout for each known host on the path. */
export function patienceOf(options: ReadonlyMap<string, string>, { connectTimeout }: SshTimes): number {
  const given = options.get("connecttimeout");
  const ms = isGiven(given) ? Number(given) * 1000 : connectTimeout;
  const jumps = options.get("proxyjump")?.split(",").length ?? 0;
  const isThrough = jumps === 0 && options.has("proxycommand");
  return ms * (1 + jumps + (isThrough ? 1 : 0));
}

function whom({ user, port, jumps = [], config }: OpensshTarget): string[] {
  return [
    ...config === undefined ? [] : ["-F", config],
    ...user === undefined ? [] : ["-l", user],
    ...port === undefined ? [] : ["-p", String(port)],
    ...jumps.length === 0 ? [] : ["-J", jumps.map(jumpText).join(",")],
  ];
}

function jumpText({ user, host, port }: JumpSpec): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${user === undefined ? "" : `${user}@`}${name}${port === undefined ? "" : `:${port}`}`;
}

/**
 * Prefers AES-GCM on processors with AES: it costs half as much as chacha20-poly1305, and leaves time for our
 * work.
 */
function quickCiphers(list = ""): string[] {
  const names = list.split(",");
  const quick = names.filter((name) => /^aes\d+-gcm@/.test(name));
  if (quick.length === 0) return [];
  return [`Ciphers=${[...quick, ...names.filter((name) => !quick.includes(name))].join(",")}`];
}

/** ssh ends the session when this many keepalives have no answer and the next one is due. */
function alive({ keepalive, deadAfter }: SshTimes): string[] {
  const interval = seconds(keepalive);
  const count = Math.max(1, Math.round(deadAfter / 1000 / interval) - 1);
  return [`ServerAliveInterval=${interval}`, `ServerAliveCountMax=${count}`];
}

function isGiven(value: string | undefined): value is string {
  return value !== undefined && value !== "none" && value !== "0";
}

function seconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1000));
}
