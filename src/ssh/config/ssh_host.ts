/** The ssh configuration of one host: everything that the engines need to connect. */
export interface SshHost {
  /** The name that the configuration was looked up by. */
  readonly alias: string;
  readonly hostName: string;
  readonly port: number;
  readonly user: string;
  /**
   * The jump hosts from ProxyJump, or from `ssh -W` as ProxyCommand, nearest first; empty for a direct
   * connection. The first one uses its own configuration; ssh reaches each of the others through the one
   * before it.
   */
  readonly jumps: readonly JumpSpec[];
  /** Any other command; its stdio is the connection. Tokens are expanded. */
  readonly proxyCommand?: string;
  readonly identityFiles: readonly string[];
  readonly certificateFiles: readonly string[];
  readonly identitiesOnly: boolean;
  /** The agent's socket; absent without an agent. */
  readonly identityAgent?: string;
  readonly userKnownHostsFiles: readonly string[];
  readonly globalKnownHostsFiles: readonly string[];
  readonly hostKeyAlias?: string;
  readonly strictHostKeyChecking: "yes" | "accept-new";
  readonly hashKnownHosts: boolean;
  /**
   * As `ssh -G` prints them, with `+ - ^` applied; absent for the engine's default, as are the next four
   * lists.
   */
  readonly hostKeyAlgorithms?: readonly string[];
  readonly ciphers?: readonly string[];
  readonly macs?: readonly string[];
  readonly kexAlgorithms?: readonly string[];
  readonly pubkeyAcceptedAlgorithms?: readonly string[];
  /**
   * The algorithms with which a certificate authority may sign host certificates; the server judges a user's
   * own. The built-in engine accepts no host certificates. Absent for the engine's default.
   */
  readonly caSignatureAlgorithms?: readonly string[];
  /** The minimum length in bits of RSA keys, the server's and the user's; absent means 1024. */
  readonly requiredRsaSize?: number;
  /** In milliseconds, like the next one. */
  readonly connectTimeout?: number;
  readonly serverAliveInterval?: number;
  readonly serverAliveCountMax?: number;
  readonly addressFamily: "any" | "inet" | "inet6";
  readonly bindAddress?: string;
  readonly preferredAuthentications?: readonly string[];
  readonly kbdInteractive: boolean;
  readonly password: boolean;
  readonly pubkey: boolean;
  /**
   * Set when the user's ssh program makes the whole connection to this host; absent for the built-in engine.
   */
  readonly engine?: "openssh";
  /** What to pass to that program in addition to the name. */
  readonly asked?: { readonly user?: string; readonly port?: number };
  /**
   * The options that the built-in engine does not support; a blocking one keeps the engine from using the
   * host.
   */
  readonly problems: readonly SshConfigProblem[];
}

/** One hop of a ProxyJump list. */
export interface JumpSpec {
  readonly user?: string;
  readonly host: string;
  readonly port?: number;
}

/** A line of the ssh configuration that the user should know about. */
export interface SshConfigProblem {
  /**
   * `blocking` may change where ssh connects or which servers it trusts; `note` is worth a report; `harmless`
   * goes to the debug log.
   */
  readonly severity: "blocking" | "note" | "harmless";
  readonly file: string;
  /** Counted from 1; 0 for the file as a whole. */
  readonly line: number;
  readonly option: string;
  readonly message: string;
}
