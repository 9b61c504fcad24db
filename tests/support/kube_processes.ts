import { eventually, freePort, type PeerOptions, PeerServer, runPeer } from "./peer_program.ts";

/** A certificate of a cluster of the tests. */
export interface AskedCertificate {
  /** What its files are called. */
  readonly name: string;
  readonly commonName: string;
  readonly organization?: readonly string[];
  readonly hosts?: readonly string[];
  /** How long it is good for; below nothing it is over already. A day unless told. */
  readonly seconds?: number;
}

/** Writes `NAME.crt` and `NAME.key` of each, and `ca.crt` where there is none yet. */
export async function makeCertificates(
  kubernetes: string,
  directory: string,
  asked: readonly AskedCertificate[],
): Promise<void> {
  const stdin = JSON.stringify(asked);
  const { code, stderr } = await runPeer(kubernetes, ["certificates", directory], { stdin });
  if (code !== 0) throw new Error(`no certificates: ${stderr}`);
}

/**
 * Starts a server of the cluster on a port of its own, and again on another one where somebody was quicker. The
 * ports lie below those that outgoing connections get, so that a server that is away for a moment finds its own again.
 */
export async function startServer(
  kubernetes: string,
  args: (port: number) => readonly string[],
  options: PeerOptions = {},
): Promise<PeerServer> {
  for (let left = 5;; left--) {
    try {
      return await PeerServer.start(kubernetes, args, { patience: 120_000, port: freePort(), ...options });
    } catch (error) {
      if (left === 0 || options.port !== undefined || !/address already in use/i.test(String(error))) {
        throw error;
      }
    }
  }
}

/** How long anything of a cluster may take on a busy machine, in ms. */
export const patience = 120_000;

/** Waits for what a cluster does by itself. */
export async function eventuallyInCluster(
  what: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  await eventually(what, isSo, patience);
}
