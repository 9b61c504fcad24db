import { type Clock, type Log, Messages, whenAborted, within } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import type { Files, Network, Process } from "../../world/mod.ts";
import { decodeSshMuxAnswer, encodeSshMuxHello, encodeSshMuxRequest } from "./ssh_mux.ts";

export interface OpensshDirectoryOptions {
  /** The parent of these directories; created with private permissions if missing. */
  readonly parent: string;
  readonly platform: Process["platform"];
  readonly network: Pick<Network, "connect">;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The directory for the control sockets of our masters, one per process, created on first use. A lock file
 * next to it shows that the process lives. Creating it also ends and removes what killed processes left,
 * including their masters.
 */
export class OpensshDirectory implements AsyncDisposable {
  readonly #options: OpensshDirectoryOptions;
  readonly #path: string;
  #claiming: Promise<Disposable> | undefined;
  #sockets = 0;
  #isOver = false;

  constructor(options: OpensshDirectoryOptions) {
    this.#options = options;
    // Short, because macOS limits the path of a socket to 103 bytes.
    this.#path = `${options.parent}/${crypto.randomUUID().slice(0, 8)}`;
  }

  /** Returns the path for a new control socket. */
  async socket(): Promise<string> {
    if (this.#isOver) throw new PosternError("cancelled", "postern closed the ssh masters");
    const claiming = this.#claiming ??= this.#claim();
    try {
      await claiming;
    } catch (error) {
      // Retry next time: the user may have fixed the directory by then.
      if (this.#claiming === claiming) this.#claiming = undefined;
      throw error;
    }
    return `${this.#path}/${++this.#sockets}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const lock = await this.#claiming?.catch(() => undefined);
    if (lock) await this.#remove(this.#path, lock);
  }

  async #claim(): Promise<Disposable> {
    const { files, parent, platform } = this.#options;
    demandShort(this.#path, platform);
    await files.privateDirectory(parent);
    // Take the lock first: other processes remove a directory whose lock is free.
    const lock = await files.lock(`${this.#path}.lock`);
    if (!lock) {
      throw new PosternError("internal", `Cannot use "${this.#path}": another process has locked it`);
    }
    try {
      await files.privateDirectory(this.#path);
      await this.#sweep();
      return lock;
    } catch (error) {
      await this.#remove(this.#path, lock);
      throw error;
    }
  }

  /** Removes the directories of ended processes. */
  async #sweep(): Promise<void> {
    const { files, parent, log } = this.#options;
    const names = (await files.list(parent)).flatMap((name) => /^(?:ssh-)?[0-9a-f]{8}/.exec(name) ?? []);
    for (const name of new Set(names)) {
      const path = `${parent}/${name}`;
      if (path === this.#path) continue;
      try {
        const lock = await files.lock(`${path}.lock`);
        if (!lock) continue;
        log.info("ssh.leftover", { path });
        await this.#remove(path, lock);
      } catch (error) {
        log.warn("ssh.leftover", { path, reason: describe(error) });
      }
    }
  }

  async #remove(path: string, lock: Disposable): Promise<void> {
    const { files } = this.#options;
    using _lock = lock;
    if (await files.info(path)) {
      for (const name of await files.list(path)) {
        await this.#terminate(`${path}/${name}`);
        await files.remove(`${path}/${name}`);
      }
      await files.remove(path);
    }
    await files.remove(`${path}.lock`);
  }

  /** Tells a master to end, if one listens on the socket. */
  async #terminate(socket: string): Promise<void> {
    const { network, clock } = this.#options;
    const error = () => new PosternError("timeout", `Cannot stop the ssh master at "${socket}": no answer`);
    const { signal } = new AbortController();
    try {
      await within({ clock, ms: patience, signal, error }, async (signal) => {
        await using conn = await network.connect({ path: socket }, { signal });
        using _stop = whenAborted(signal, () => conn.abort(signal.reason));
        const messages = new Messages(conn);
        await conn.write(encodeSshMuxHello());
        await conn.write(encodeSshMuxRequest("terminate"));
        while (await messages.read(decodeSshMuxAnswer));
      });
    } catch (error) {
      // Most sockets no longer have a listener, and a master that ends may reset the connection.
      if (!(error instanceof PosternError) || error.code === "timeout") throw error;
    }
  }
}

const patience = 1000;
/** The bytes that our number and ssh's temporary name (`.` and 16 letters) add to the directory. */
const added = 1 + 5 + 17;

function demandShort(path: string, platform: Process["platform"]): void {
  const most = (platform === "linux" ? 107 : 103) - added;
  const length = new TextEncoder().encode(path).length;
  if (length <= most) return;
  throw new PosternError(
    "config",
    `Cannot create control sockets of ssh in "${path}": the path has ${length} bytes, the system allows ${most}`,
    { hint: "set XDG_RUNTIME_DIR to a shorter directory; on macOS use the built-in engine for this host" },
  );
}
