import { boundAs, directoryOf } from "../../world/mod.ts";

/** How many names to try for the temporary directory. */
const mostTries = 100;

/**
 * Binds a unix socket that only our user can connect to, regardless of the umask: the socket appears at its
 * path with its final mode. An existing file counts as an address in use.
 */
export function listenUnix(path: string): Deno.UnixListener {
  // Windows has no modes; access depends on the directory.
  if (Deno.build.os === "windows") return Deno.listen({ transport: "unix", path });
  demandFree(path);
  const directory = privateBeside(path);
  const bound = `${directory}/${boundAs.name}`;
  let listener: Deno.UnixListener | undefined;
  try {
    listener = Deno.listen({ transport: "unix", path: bound });
    Deno.chmodSync(bound, 0o600);
    demandFree(path);
    Deno.renameSync(bound, path);
    return listener;
  } catch (error) {
    listener?.close();
    removeIfThere(bound);
    throw error;
  } finally {
    Deno.removeSync(directory);
  }
}

function demandFree(path: string): void {
  try {
    Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new Deno.errors.AddrInUse(path);
}

/** Creates a directory that only we can enter, on the same file system. */
function privateBeside(path: string): string {
  for (let tries = 1;; tries++) {
    const name = crypto.randomUUID().slice(0, boundAs.directory.length - 1);
    const directory = `${directoryOf(path)}/.${name}`;
    try {
      Deno.mkdirSync(directory, { mode: 0o700 });
      return directory;
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists) || tries === mostTries) throw error;
    }
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
