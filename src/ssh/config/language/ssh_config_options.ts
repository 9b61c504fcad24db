import type { SshValueKind } from "./ssh_config_values.ts";

/**
 * What becomes of an option: `honoured`; `harmless`, since leaving it out can only make a sign-in fail, never connect
 * elsewhere or trust more; `blocking`, since it changes where one connects or whom one trusts.
 */
export type SshOptionClass = "honoured" | "harmless" | "blocking";

/** A keyword of the ssh configuration. */
export interface SshOption {
  /** As ssh_config(5) spells it. */
  readonly name: string;
  readonly class: SshOptionClass;
  /** How an honoured option is written. */
  readonly kind?: SshValueKind;
  /** Several lines add up, instead of the first one winning. */
  readonly accumulates?: true;
  /** The values with which a blocking option changes nothing. */
  readonly unless?: readonly string[];
  /** Why a harmless option is worth a word. */
  readonly note?: string;
}

const off = ["no", "false", "none"];

const honoured: readonly Omit<SshOption, "class">[] = [
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
    note: "keys on a smart card are not used by the built-in engine",
    unless: ["none"],
  }),
  ...each("SecurityKeyProvider", {
    note: "security keys are used through an agent only",
    unless: ["internal"],
  }),
  ...each("HostbasedAuthentication", {
    note: "host-based sign-in is not done by the built-in engine",
    unless: off,
  }),
  // What the session would look like, what it would forward, and how ssh itself behaves.
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
  // Every stock Debian sets the first one.
  ...each("GSSAPIAuthentication GSSAPIClientIdentity GSSAPIDelegateCredentials GSSAPIKeyExchange"),
  ...each("GSSAPIKexAlgorithms GSSAPIRenewalForcesRekey GSSAPIServerIdentity GSSAPITrustDns"),
  // Words that OpenSSH itself passes over.
  ...each("Protocol Cipher FallBackToRsh GlobalKnownHostsFile2 RhostsAuthentication UserKnownHostsFile2"),
  ...each("UseRoaming UseRsh UsePrivilegedPort AFSTokenPassing KerberosAuthentication KerberosTGTPassing"),
  ...each("RSAAuthentication RhostsRSAAuthentication CompressionLevel"),
];

/** Former names of honoured options. */
const aliases: Readonly<Record<string, string>> = {
  identityfile2: "identityfile",
  dsaauthentication: "pubkeyauthentication",
  challengeresponseauthentication: "kbdinteractiveauthentication",
  skeyauthentication: "kbdinteractiveauthentication",
  tisauthentication: "kbdinteractiveauthentication",
  pubkeyacceptedkeytypes: "pubkeyacceptedalgorithms",
  // Debian's own.
  protocolkeepalives: "serveraliveinterval",
  setuptimeout: "serveraliveinterval",
};

/** Every option of the ssh configuration by its name in lower case: the one table of the three classes. */
export const sshOptions: ReadonlyMap<string, SshOption> = new Map(
  [
    ...honoured.map((option): SshOption => ({ ...option, class: "honoured" })),
    ...harmless.map((option): SshOption => ({ ...option, class: "harmless" })),
    ...blocking.map((option): SshOption => ({ ...option, class: "blocking" })),
  ].map((option) => [option.name.toLowerCase(), option]),
);

/** The words that make the structure of a file. */
export const sshStructureWords: readonly string[] = ["Host", "Match", "Include"];

/** The option of a keyword in lower case; undefined is a word that ssh does not know. */
export function sshOption(keyword: string): SshOption | undefined {
  return sshOptions.get(Object.hasOwn(aliases, keyword) ? aliases[keyword] ?? keyword : keyword);
}

function each(names: string, rest: Omit<SshOption, "class" | "name"> = {}): Omit<SshOption, "class">[] {
  return names.split(" ").map((name) => ({ name, ...rest }));
}
