/** What the ssh configuration says about one host: everything that the engines need to get there. */
export interface SshHost {
  /** The name it was asked for by. */
  readonly alias: string;
  readonly hostName: string;
  readonly port: number;
  readonly user: string;
  /**
   * From ProxyJump or `ssh -W` as ProxyCommand, nearest first; empty is straight. The first one is reached as its own
   * configuration says, each other one through the one before it.
   */
  readonly jumps: readonly JumpSpec[];
  /** Any other command whose stdio is the connection, tokens expanded. */
  readonly proxyCommand?: string;
  readonly identityFiles: readonly string[];
  readonly certificateFiles: readonly string[];
  readonly identitiesOnly: boolean;
  /** The agent's socket; absent is none. */
  readonly identityAgent?: string;
  readonly userKnownHostsFiles: readonly string[];
  readonly globalKnownHostsFiles: readonly string[];
  readonly hostKeyAlias?: string;
  readonly strictHostKeyChecking: "yes" | "accept-new";
  readonly hashKnownHosts: boolean;
  /** As `ssh -G` prints them, `+ - ^` applied; absent is the default of the engine, as for the four below. */
  readonly hostKeyAlgorithms?: readonly string[];
  readonly ciphers?: readonly string[];
  readonly macs?: readonly string[];
  readonly kexAlgorithms?: readonly string[];
  readonly pubkeyAcceptedAlgorithms?: readonly string[];
  /**
   * What the key of a certificate authority may sign with, for certificates of hosts (a user's own are the server's to
   * judge); the built-in engine takes none of these. Absent is the engine's default.
   */
  readonly caSignatureAlgorithms?: readonly string[];
  /** The fewest bits of an RSA key, the server's or one's own; absent is 1024. */
  readonly requiredRsaSize?: number;
  /** Milliseconds, as the next one. */
  readonly connectTimeout?: number;
  readonly serverAliveInterval?: number;
  readonly serverAliveCountMax?: number;
  readonly addressFamily: "any" | "inet" | "inet6";
  readonly bindAddress?: string;
  readonly preferredAuthentications?: readonly string[];
  readonly kbdInteractive: boolean;
  readonly password: boolean;
  readonly pubkey: boolean;
  /** The person's ssh program does everything up to this host; absent is the built-in engine. */
  readonly engine?: "openssh";
  /** What that program has to be told besides the name. */
  readonly asked?: { readonly user?: string; readonly port?: number };
  /** What the configuration asks for and the built-in engine does not do; a blocking one makes the host unusable to it. */
  readonly problems: readonly SshConfigProblem[];
}

/** One hop of a ProxyJump list. */
export interface JumpSpec {
  readonly user?: string;
  readonly host: string;
  readonly port?: number;
}

/** A line of the ssh configuration that a person has to know of. */
export interface SshConfigProblem {
  /** `blocking` may change where one connects or whom one trusts, `note` is worth telling, `harmless` a debug line. */
  readonly severity: "blocking" | "note" | "harmless";
  readonly file: string;
  /** From 1; 0 is the file as a whole. */
  readonly line: number;
  readonly option: string;
  readonly message: string;
}
