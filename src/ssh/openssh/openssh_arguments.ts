import type { SshTimes } from "../hops/ssh_pool.ts";
import type { JumpSpec } from "../config/ssh_host.ts";

/** Whom the ssh program is to reach. */
export interface OpensshTarget {
  /** A Host of the ssh configuration. */
  readonly alias: string;
  /** What a jump specification says besides; it counts more than the configuration. */
  readonly user?: string;
  readonly port?: number;
  /** Jump hosts in the place of those of the configuration. */
  readonly jumps?: readonly JumpSpec[];
  /** The configuration to read, as `ssh -F`. */
  readonly config?: string | undefined;
}

/** What `ssh -G` prints: options in lower case, the first value of each. */
export function readOptions(printed: string): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  for (const line of printed.split("\n")) {
    const [, name, value] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined && !options.has(name)) options.set(name, value);
  }
  return options;
}

/** The command that prints what ssh takes from its configuration for a target. */
export function questionCommand(target: OpensshTarget): string[] {
  return ["ssh", ...whom(target), "-G", "--", target.alias];
}

/** The command that prints what ssh does where no configuration says anything. */
export const usualCommand: readonly string[] = ["ssh", "-F", "none", "-G", "--", "localhost"];

/** The arguments of a master: it opens no port and no session, asks nobody, and ends when its server is silent. */
export function masterArguments(
  target: OpensshTarget,
  { socket, options, usual, times }: {
    readonly socket: string;
    readonly options: ReadonlyMap<string, string>;
    /** What it would do without a configuration. */
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
    // Nobody can be asked; then ssh says which key it does not know.
    ...options.get("stricthostkeychecking") === "ask" ? ["StrictHostKeyChecking=yes"] : [],
    ...options.get("tunnel") === "false" ? [] : ["Tunnel=no"],
    ...options.get("forkafterauthentication") === "yes" ? ["ForkAfterAuthentication=no"] : [],
    ...options.has("remotecommand") ? ["RemoteCommand=none"] : [],
    ...options.get("ciphers") === usual.get("ciphers") ? quickCiphers(usual.get("ciphers")) : [],
    ...isGiven(options.get("connecttimeout")) ? [] : [`ConnectTimeout=${seconds(times.connectTimeout)}`],
    ...isGiven(options.get("serveraliveinterval")) ? [] : alive(times),
  ];
  // ssh expands the path of a control socket.
  const path = socket.replaceAll("%", "%%");
  const flags = ["-M", "-N", "-T", "-a", "-x", "-S", path, ...set.flatMap((option) => ["-o", option])];
  return [...whom(target), ...flags, "--", target.alias];
}

/** Milliseconds that signing in may take: ConnectTimeout for each host on the way, as far as they are told. */
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

/** AES-GCM costs half of what chacha20-poly1305 does where the processor knows AES, which makes room for our part. */
function quickCiphers(list = ""): string[] {
  const names = list.split(",");
  const quick = names.filter((name) => /^aes\d+-gcm@/.test(name));
  if (quick.length === 0) return [];
  return [`Ciphers=${[...quick, ...names.filter((name) => !quick.includes(name))].join(",")}`];
}

/** ssh gives up when so many questions had no answer and the next one is due. */
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
