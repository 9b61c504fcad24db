import type { SshTokens } from "./language/ssh_config_tokens.ts";
import { parseSshJumps } from "./language/ssh_config_jump.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";

/** What the tokens of ssh_config(5) stand for. */
export interface SshTokenValues {
  readonly alias: string;
  readonly host: string;
  readonly port: string;
  readonly user: string;
  /** The name under which the host's key is looked up. */
  readonly keyName: string;
  /** As it is written; absent where none is given. */
  readonly proxyJump: string | undefined;
}

/** The tokens that most options take; what costs something is worked out when it is asked for. */
export function sshTokens(values: SshTokenValues, deps: SshConfigDeps): SshTokens {
  const { alias, host, port, user, keyName, proxyJump = "none" } = values;
  // The one right before the host, without user and port.
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
      if (!sha1) throw new Error("the hash of tokens is not loaded");
      return sha1(`${deps.hostname()}${host}${port}${user}${jump}`);
    },
  };
}

/** Loads what `%C` needs: node's own, because tokens are wanted at once. It has to be there before tokens are. */
export async function loadSshTokens(): Promise<void> {
  if (sha1) return;
  const { createHash } = await import("node:crypto");
  sha1 = (text) => createHash("sha1").update(text).digest("hex");
}

let sha1: ((text: string) => string) | undefined;

/** The few that the commands and names of other hosts take. */
export function sshRouteTokens({ alias, host, port, user, keyName }: SshTokenValues): SshTokens {
  return { h: host, k: keyName, n: alias, p: port, r: user };
}
