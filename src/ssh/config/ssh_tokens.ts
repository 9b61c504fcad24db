import type { SshTokens } from "./language/ssh_config_tokens.ts";
import { parseSshJumps } from "./language/ssh_config_jump.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";

/** The values of the tokens of ssh_config(5). */
export interface SshTokenValues {
  readonly alias: string;
  readonly host: string;
  readonly port: string;
  readonly user: string;
  /** The name for looking up the host's key. */
  readonly keyName: string;
  /** As written; undefined when absent. */
  readonly proxyJump: string | undefined;
}

/** The tokens that most options accept; expensive ones are computed on first use. */
export function sshTokens(values: SshTokenValues, deps: SshConfigDeps): SshTokens {
  const { alias, host, port, user, keyName, proxyJump = "none" } = values;
  // The last jump host, without user and port.
  const jump = parseSshJumps(proxyJump)?.at(-1)?.host ?? "";
  return {
    d: deps.home,
    h: host,
    i: String(deps.uid ?? 0),
    j: jump,
    k: keyName,
    n: alias,
    p: port,
    r: user,
    u: deps.localUser,
    get l() {
      return deps.hostname();
    },
    get L() {
      return deps.hostname().split(".", 1)[0] ?? "";
    },
    get C() {
      if (!sha1) throw new Error("the hash function for tokens is not loaded");
      return sha1(`${deps.hostname()}${host}${port}${user}${jump}`);
    },
  };
}

/**
 * Loads node's hash function for `%C`; unlike WebCrypto it is synchronous, as tokens are. Call this before
 * `sshTokens`.
 */
export async function loadSshTokens(): Promise<void> {
  if (sha1) return;
  const { createHash } = await import("node:crypto");
  sha1 = (text) => createHash("sha1").update(text).digest("hex");
}

let sha1: ((text: string) => string) | undefined;

/** The few tokens that commands and the names of other hosts accept. */
export function sshRouteTokens({ alias, host, port, user, keyName }: SshTokenValues): SshTokens {
  return { h: host, k: keyName, n: alias, p: port, r: user };
}
