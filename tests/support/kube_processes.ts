import { eventually, freePort, type PeerOptions, PeerServer, runPeer } from "./peer_program.ts";

/** A certificate for a test cluster. */
export interface AskedCertificate {
  /** The name of its files. */
  readonly name: string;
  readonly commonName: string;
  readonly organization?: readonly string[];
  readonly hosts?: readonly string[];
  /** The lifetime in seconds (default: one day); a negative value makes an expired certificate. */
  readonly seconds?: number;
}

/** Writes `NAME.crt` and `NAME.key` of each, and `ca.crt` if it does not exist. */
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
 * Starts a server of the cluster on a free port, and tries another port if a process took the first. The
 * ports are below the range for outgoing connections, so that a restarted server gets its port again.
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

/** The time limit for any operation of a cluster on a busy machine, in ms. */
export const patience = 120_000;

/** Waits for a change that the cluster makes by itself. */
export async function eventuallyInCluster(
  what: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  await eventually(what, isSo, patience);
}
