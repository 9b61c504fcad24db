import { scriptCache } from "./directories.ts";
import { type Found, type Peer, peerList, type PeerName } from "./peer_table.ts";

/** Debian's directories for daemons, which are often missing in PATH. */
const daemonDirectories = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** The directory into which `deno task peers` installs. */
export function peersDirectory(): string {
  return Deno.env.get("POSTERN_PEERS") || scriptCache("postern-peers");
}

/** Searches for every peer without starting one. */
export async function findPeers(): Promise<Record<PeerName, Found>> {
  const found = await Promise.all(
    peerList.map(async ([name, peer]) => [name, await findPeer(peer)] as const),
  );
  return Object.fromEntries(found) as Record<PeerName, Found>;
}

/** Searches for one peer. */
export async function findPeer(peer: Peer): Promise<Found> {
  for (const directory of await directoriesOf(peer)) {
    const path = `${directory}/${peer.program}`;
    if (await isProgram(path)) return { path };
  }
  return { missing: `"${peer.program}" is not installed: run deno task peers` };
}

/** Searches PATH for a program. */
export async function findProgram(program: string): Promise<string | undefined> {
  const found = await findPeer({ program });
  return "path" in found ? found.path : undefined;
}

async function directoriesOf(peer: Peer): Promise<string[]> {
  if (peer.python) return [`${peersDirectory()}/python/bin`];
  if (peer.go) return [`${peersDirectory()}/bin`];
  if (peer.maven || peer.npm) return [peersDirectory()];
  if (peer.program.endsWith(".jar")) return ["/usr/share/java"];
  if (peer.versions) return await versionsIn(peer.versions);
  const separator = Deno.build.os === "windows" ? ";" : ":";
  return [
    ...(Deno.env.get("PATH") ?? "").split(separator).filter((path) => path !== ""),
    ...daemonDirectories,
  ];
}

/** Returns the directories of the programs of each installed version, the highest first. */
async function versionsIn(directory: string): Promise<string[]> {
  try {
    const versions = (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => Number(name));
    return versions.filter((version) => version > 0).toSorted((a, b) => b - a)
      .map((version) => `${directory}/${version}/bin`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return [];
    throw error;
  }
}

/** Whether a file can be run; a Java archive only needs to exist. */
async function isProgram(path: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(path);
    return isFile && (path.endsWith(".jar") || mode === null || (mode & 0o111) !== 0);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    if (error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}
