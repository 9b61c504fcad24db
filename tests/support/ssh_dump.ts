import type { SshHost } from "../../src/ssh/mod.ts";

/** The output of `ssh -G`: values by option, in order. */
export type SshDump = ReadonlyMap<string, readonly string[]>;

/** Reads the output of `ssh -G`. */
export function parseSshDump(text: string): SshDump {
  const dump = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const gap = line.indexOf(" ");
    if (gap < 0) continue;
    const name = line.slice(0, gap);
    dump.set(name, [...dump.get(name) ?? [], line.slice(gap + 1)]);
  }
  return dump;
}

/** The values for expansion and defaults that the dump does not contain. */
export interface SshDumpContext {
  readonly home: string;
  readonly localUser: string;
  readonly env: Readonly<Record<string, string>>;
  /** The output of ssh without a configuration. */
  readonly defaults: SshDump;
}

/** Converts `ssh -G` to our names for every supported option. */
export function expectedHost(dump: SshDump, context: SshDumpContext): Record<string, unknown> {
  const one = (name: string) => dump.get(name)?.[0];
  const list = (name: string) => one(name)?.split(",");
  const files = (name: string) =>
    (one(name) ?? "").split(" ").filter((path) => path !== "none" && path !== "");
  const expand = (path: string) => expanded(path, dump, context);
  const paths = (name: string) => (dump.get(name) ?? []).filter((path) => path !== "none").map(expand);
  const checking = one("stricthostkeychecking");
  const isBatch = one("batchmode") === "yes";
  return {
    hostName: one("hostname"),
    port: Number(one("port")),
    user: one("user"),
    addressFamily: one("addressfamily"),
    bindAddress: one("bindaddress"),
    hostKeyAlias: one("hostkeyalias"),
    hashKnownHosts: one("hashknownhosts") === "yes",
    identitiesOnly: one("identitiesonly") === "yes",
    kbdInteractive: one("kbdinteractiveauthentication") === "yes" && !isBatch,
    password: one("passwordauthentication") === "yes" && !isBatch,
    pubkey: one("pubkeyauthentication") !== "false",
    preferredAuthentications: list("preferredauthentications"),
    strictHostKeyChecking: checking === "ask" || checking === "true" ? "yes" : "accept-new",
    serverAliveCountMax: Number(one("serveralivecountmax")),
    // With BatchMode Debian's ssh defaults to 300; postern has its own default.
    serverAliveInterval: isBatch && one("serveraliveinterval") === "300"
      ? 0
      : Number(one("serveraliveinterval")),
    connectTimeout: one("connecttimeout"),
    requiredRsaSize: Number(one("requiredrsasize")),
    ciphers: list("ciphers"),
    macs: list("macs"),
    kexAlgorithms: list("kexalgorithms"),
    hostKeyAlgorithms: list("hostkeyalgorithms"),
    pubkeyAcceptedAlgorithms: list("pubkeyacceptedalgorithms"),
    caSignatureAlgorithms: list("casignaturealgorithms"),
    identityFiles: paths("identityfile"),
    certificateFiles: paths("certificatefile"),
    identityAgent: agent(one("identityagent"), context),
    userKnownHostsFiles: files("userknownhostsfile"),
    globalKnownHostsFiles: files("globalknownhostsfile"),
    jumps: expand(one("proxyjump") ?? ""),
    proxyCommand: expand(one("proxycommand") ?? ""),
  };
}

/** Converts our host to the same names. */
export function comparableHost(host: SshHost, { defaults }: SshDumpContext): Record<string, unknown> {
  const list = (own: readonly string[] | undefined, name: string) =>
    own ?? defaults.get(name)?.[0]?.split(",");
  const { alias: _, problems: _problems, ...rest } = host;
  return {
    bindAddress: undefined,
    hostKeyAlias: undefined,
    preferredAuthentications: undefined,
    identityAgent: undefined,
    ...rest,
    serverAliveCountMax: host.serverAliveCountMax ?? 3,
    serverAliveInterval: (host.serverAliveInterval ?? 0) / 1000,
    connectTimeout: host.connectTimeout === undefined ? "none" : String(host.connectTimeout / 1000),
    requiredRsaSize: host.requiredRsaSize ?? 1024,
    ciphers: list(host.ciphers, "ciphers"),
    macs: list(host.macs, "macs"),
    kexAlgorithms: list(host.kexAlgorithms, "kexalgorithms"),
    hostKeyAlgorithms: list(host.hostKeyAlgorithms, "hostkeyalgorithms"),
    pubkeyAcceptedAlgorithms: list(host.pubkeyAcceptedAlgorithms, "pubkeyacceptedalgorithms"),
    caSignatureAlgorithms: list(host.caSignatureAlgorithms, "casignaturealgorithms"),
    jumps: host.jumps.map(({ user, host: name, port }) =>
      `${user === undefined ? "" : `${user}@`}${name.includes(":") ? `[${name}]` : name}${
        port === undefined ? "" : `:${port}`
      }`
    ).join(","),
    proxyCommand: host.proxyCommand ?? "",
  };
}

/** Expands values that ssh prints unchanged and expands only when it connects. */
function expanded(text: string, dump: SshDump, { home, localUser, env }: SshDumpContext): string {
  const one = (name: string) => dump.get(name)?.[0] ?? "";
  const tokens: Readonly<Record<string, string>> = {
    h: one("hostname"),
    n: one("host"),
    p: one("port"),
    r: one("user"),
    u: localUser,
    k: one("hostkeyalias") || one("host"),
    "%": "%",
  };
  return text
    .replace(/^~(?=\/)/, home)
    .replace(/\$\{(\w+)\}/g, (_, name: string) => env[name] ?? "")
    .replace(/%(.)/g, (_, token: string) => tokens[token] ?? "");
}

function agent(value: string | undefined, { env }: SshDumpContext): string | undefined {
  if (value === undefined || value === "SSH_AUTH_SOCK") return env["SSH_AUTH_SOCK"];
  if (value === "none") return undefined;
  return value.startsWith("$") ? env[value.slice(1)] : value;
}
