import type { Clock, Conn } from "../../core/mod.ts";
import type { Files, Network } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { HostKeys } from "../host_keys/host_keys.ts";
import { type Prompt, signInToSsh } from "../sign_in/ssh_auth.ts";
import { type SshAlgorithms, SshEngine } from "../hops/ssh_engine.ts";
import type { SshHost } from "../config/ssh_host.ts";
import { collectIdentities } from "../keys/ssh_identities.ts";
import { sshLabel } from "../ssh_label.ts";
import { SshSession } from "./ssh_session.ts";
import type { UnlockedKeys } from "../keys/unlocked_keys.ts";

export interface OpenSshSessionDeps {
  readonly network: Pick<Network, "connect">;
  readonly clock: Clock;
  readonly files: Pick<Files, "readTextIfThere">;
  readonly hostKeys: Pick<HostKeys, "algorithms" | "verify">;
  /** Absent when postern cannot prompt the user. */
  readonly prompt?: Prompt | undefined;
  /** Absent when each sign-in asks for passphrases again. */
  readonly unlocked?: UnlockedKeys;
  /** Milliseconds without data before a keepalive, and before the session ends. */
  readonly keepalive: number;
  readonly deadAfter: number;
}

/** Signs in to a host over a connection, as its ssh configuration says. */
export async function openSshSession(
  conn: Conn,
  host: SshHost,
  { deps, signal, onStep }: {
    readonly deps: OpenSshSessionDeps;
    readonly signal: AbortSignal;
    readonly onStep?: ((step: string) => void) | undefined;
  },
): Promise<SshSession> {
  const label = sshLabel(host);
  // Read the keys during the key exchange.
  const identities = collectIdentities(host, deps, { signal });
  identities.catch(() => {});
  let algorithms: SshAlgorithms;
  try {
    algorithms = await algorithmsOf(host, deps);
  } catch (error) {
    conn.abort(error);
    throw error;
  }
  return await SshSession.open(conn, {
    label,
    clock: deps.clock,
    algorithms,
    verifyHostKey: (key) => deps.hostKeys.verify(host, key, { signal }),
    signIn: (link) => signInToSsh(link, { host, label, identities, signal, prompt: deps.prompt, onStep }),
    ...lifeOf(host, deps),
    signal,
    onStep,
  });
}

async function algorithmsOf(host: SshHost, { hostKeys }: OpenSshSessionDeps): Promise<SshAlgorithms> {
  const algorithms = { kex: host.kexAlgorithms, ciphers: host.ciphers, macs: host.macs };
  const unknown = await SshEngine.unknownAlgorithms(algorithms);
  if (unknown !== undefined) {
    throw new PosternError(
      "config",
      `Cannot use ${sshLabel(host)}: the built-in engine supports none of its ${unknown}`,
      { hint: "use engine: openssh for this host" },
    );
  }
  const { usual, onRequest } = await SshEngine.hostKeyAlgorithms();
  return { ...algorithms, hostKey: await hostKeys.algorithms(host, usual, { onRequest }) };
}

/** The keepalive settings: the host's own, else ours. OpenSSH's default is to send none. */
function lifeOf(
  { serverAliveInterval, serverAliveCountMax = 3 }: SshHost,
  { keepalive, deadAfter }: OpenSshSessionDeps,
): { keepalive: number; deadAfter: number } {
  if (!serverAliveInterval) return { keepalive, deadAfter };
  return {
    keepalive: serverAliveInterval,
    deadAfter: serverAliveInterval * Math.max(2, serverAliveCountMax),
  };
}
