import type { SshValueKind } from "./ssh_config_values.ts";

/**
 * How the built-in engine treats an option: `supported` options apply. Without a `harmless` option, a sign-in
 * may fail, but never connects elsewhere or trusts more. A `blocking` option changes where ssh connects or
 * which servers it trusts.
 */
export type SshOptionClass = "supported" | "harmless" | "blocking";

/** A keyword of the ssh configuration. */
export interface SshOption {
  /** As ssh_config(5) spells it. */
  readonly name: string;
  readonly class: SshOptionClass;
  /** The form of a supported option's value. */
  readonly kind?: SshValueKind;
  /** The values of several lines add up; without this, the first line wins. */
  readonly accumulates?: true;
  /** The values with which a blocking option has no effect. */
  readonly unless?: readonly string[];
  /** The note to report about a harmless option; absent for most of them. */
  readonly note?: string;
}

const off = ["no", "false", "none"];

const supported: readonly Omit<SshOption, "class">[] = [
  ...each("HostName User HostKeyAlias BindAddress PreferredAuthentications IdentityAgent IgnoreUnknown Tag", {
    kind: "word",
  }),
  ...each("IdentityFile CertificateFile", { kind: "word", accumulates: true }),
  ...each("UserKnownHostsFile GlobalKnownHostsFile", { kind: "words" }),
  ...each("HostKeyAlgorithms Ciphers MACs KexAlgorithms PubkeyAcceptedAlgorithms CASignatureAlgorithms", {
    kind: "algorithms",
  }),
  ...each("ConnectTimeout ServerAliveInterval", { kind: "time" }),
  ...each("ServerAliveCountMax RequiredRSASize", { kind: "integer" }),
  ...each(
    "IdentitiesOnly HashKnownHosts PasswordAuthentication KbdInteractiveAuthentication BatchMode ProxyUseFdpass",
    { kind: "flag" },
  ),
  { name: "Port", kind: "port" },
  { name: "ProxyJump", kind: "jumps" },
  { name: "ProxyCommand", kind: "command" },
  { name: "AddressFamily", kind: ["any", "inet", "inet6"] },
  { name: "StrictHostKeyChecking", kind: ["yes", "no", "ask", "off", "accept-new"] },
  { name: "PubkeyAuthentication", kind: ["yes", "no", "unbound", "host-bound"] },
];

const blocking: readonly Omit<SshOption, "class">[] = [
  ...each("KnownHostsCommand CanonicalizePermittedCNAMEs BindInterface RevokedHostKeys", {
    unless: ["none"],
  }),
  ...each("RefuseConnection", {}),
  ...each("VerifyHostKeyDNS CanonicalizeHostname CheckHostIP", { unless: off }),
];

const harmless: readonly Omit<SshOption, "class">[] = [
  ...each("PKCS11Provider SmartcardDevice", {
    note: "the built-in engine does not use keys on a smart card",
    unless: ["none"],
  }),
  ...each("SecurityKeyProvider", {
    note: "the built-in engine uses security keys only through an agent",
    unless: ["internal"],
  }),
  ...each("HostbasedAuthentication", {
    note: "the built-in engine does not support host-based sign-in",
    unless: off,
  }),
  // Options about the look of a session, about forwards, and about ssh's own behavior.
  ...each("AddKeysToAgent CanonicalDomains CanonicalizeFallbackLocal CanonicalizeMaxDots ChannelTimeout"),
  ...each("ClearAllForwardings Compression ConnectionAttempts ControlMaster ControlPath ControlPersist"),
  ...each("DynamicForward EnableEscapeCommandline EnableSSHKeysign EscapeChar ExitOnForwardFailure"),
  ...each(
    "FingerprintHash ForkAfterAuthentication ForwardAgent ForwardX11 ForwardX11Timeout ForwardX11Trusted",
  ),
  ...each(
    "GatewayPorts HostbasedAcceptedAlgorithms HostbasedKeyTypes IPQoS KbdInteractiveDevices LocalCommand",
  ),
  ...each("LocalForward LogLevel LogVerbose NoHostAuthenticationForLocalhost NumberOfPasswordPrompts"),
  ...each(
    "ObscureKeystrokeTiming PermitLocalCommand PermitRemoteOpen RekeyLimit RemoteCommand RemoteForward",
  ),
  ...each("RequestTTY SendEnv SessionType SetEnv StdinNull StreamLocalBindMask StreamLocalBindUnlink"),
  ...each("SyslogFacility TCPKeepAlive KeepAlive Tunnel TunnelDevice UpdateHostKeys VersionAddendum"),
  ...each("VisualHostKey WarnWeakCrypto XAuthLocation UseKeychain"),
  // Debian's default configuration sets the first one.
  ...each("GSSAPIAuthentication GSSAPIClientIdentity GSSAPIDelegateCredentials GSSAPIKeyExchange"),
  ...each("GSSAPIKexAlgorithms GSSAPIRenewalForcesRekey GSSAPIServerIdentity GSSAPITrustDns"),
  // Keywords that OpenSSH itself ignores.
  ...each("Protocol Cipher FallBackToRsh GlobalKnownHostsFile2 RhostsAuthentication UserKnownHostsFile2"),
  ...each("UseRoaming UseRsh UsePrivilegedPort AFSTokenPassing KerberosAuthentication KerberosTGTPassing"),
  ...each("RSAAuthentication RhostsRSAAuthentication CompressionLevel"),
];

/** Former names of supported options. */
const aliases: Readonly<Record<string, string>> = {
  identityfile2: "identityfile",
  dsaauthentication: "pubkeyauthentication",
  challengeresponseauthentication: "kbdinteractiveauthentication",
  skeyauthentication: "kbdinteractiveauthentication",
  tisauthentication: "kbdinteractiveauthentication",
  pubkeyacceptedkeytypes: "pubkeyacceptedalgorithms",
  // Debian adds this one.
  protocolkeepalives: "serveraliveinterval",
  setuptimeout: "serveraliveinterval",
};

/** Every option of the ssh configuration by its lower-case name: the only table of the three classes. */
export const sshOptions: ReadonlyMap<string, SshOption> = new Map(
  [
    ...supported.map((option): SshOption => ({ ...option, class: "supported" })),
    ...harmless.map((option): SshOption => ({ ...option, class: "harmless" })),
    ...blocking.map((option): SshOption => ({ ...option, class: "blocking" })),
  ].map((option) => [option.name.toLowerCase(), option]),
);

/** The keywords that structure a file. */
export const sshStructureWords: readonly string[] = ["Host", "Match", "Include"];

/** Returns the option of a lower-case keyword; undefined when ssh does not know the keyword. */
export function sshOption(keyword: string): SshOption | undefined {
  return sshOptions.get(Object.hasOwn(aliases, keyword) ? aliases[keyword] ?? keyword : keyword);
}

function each(names: string, rest: Omit<SshOption, "class" | "name"> = {}): Omit<SshOption, "class">[] {
  return names.split(" ").map((name) => ({ name, ...rest }));
}
