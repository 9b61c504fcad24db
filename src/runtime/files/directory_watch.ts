import type { Clock } from "../../core/mod.ts";
import { fileError } from "./file_error.ts";

/** How long nothing more must happen before a change is told: an editor's save is many events. */
const quiet = 200;
/** How long a directory in which something happens all the time may keep a change back. */
const longest = 2000;
/** How often a directory that has gone is looked for. */
const searchEvery = 1000;

/**
 * Calls `changed` after something in a directory changed and 200 ms of quiet, or after two seconds without. A
 * directory that is missing, removed or replaced is looked for each second, and its return is a change.
 */
export function watchDirectory(directory: string, changed: () => void, clock: Clock): Disposable {
  const watch = new DirectoryWatch(directory, changed, clock);
  watch.start();
  return watch;
}

class DirectoryWatch implements Disposable {
  readonly #directory: string;
  readonly #changed: () => void;
  readonly #clock: Clock;
  #watcher: Deno.FsWatcher | undefined;
  #identity = "";
  #timer: Disposable | undefined;
  /** When the first change came that was not told yet. */
  #since: number | undefined;
  #isClosed = false;

  constructor(directory: string, changed: () => void, clock: Clock) {
    this.#directory = directory;
    this.#changed = changed;
    this.#clock = clock;
  }

  /** Throws where watching is impossible; a missing directory is waited for. */
  start(): void {
    try {
      this.#open();
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw fileError(error, `watch "${this.#directory}"`);
      this.#search();
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#close();
  }

  #open(): void {
    const watcher = Deno.watchFs(this.#directory, { recursive: false });
    this.#watcher = watcher;
    try {
      this.#identity = identity(this.#directory);
    } catch (error) {
      this.#close();
      throw error;
    }
    void this.#follow(watcher);
  }

  #close(): void {
    const watcher = this.#watcher;
    this.#watcher = undefined;
    watcher?.close();
  }

  /** Never rejects: a watcher that fails is as good as a directory that has gone. */
  async #follow(watcher: Deno.FsWatcher): Promise<void> {
    try {
      for await (const { kind } of watcher) if (kind !== "access") this.#settle();
    } catch {
      // The search below opens it anew, or finds each second that this cannot be done yet.
    }
    if (this.#isClosed) return;
    this.#close();
    // Not before the former watcher has ended: Deno 2.9 joins watchers of one path, and the new one would hear nothing.
    this.#reopen();
  }

  /** Begins the quiet time anew, if there is still time for that. */
  #settle(): void {
    if (this.#isClosed) return;
    const now = this.#clock.now();
    this.#since ??= now;
    const left = this.#since + longest - now;
    if (this.#timer && left <= 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.after(Math.min(quiet, Math.max(0, left)), () => {
      this.#timer = this.#since = undefined;
      if (this.#isStill()) this.#changed();
      else this.#close();
    });
  }

  #search(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.after(searchEvery, () => {
      this.#timer = undefined;
      this.#reopen();
    });
  }

  #reopen(): void {
    try {
      this.#open();
    } catch {
      return this.#search();
    }
    this.#changed();
  }

  /** Whether the path still means the directory that is watched. */
  #isStill(): boolean {
    try {
      return identity(this.#directory) === this.#identity;
    } catch {
      return false;
    }
  }
}

function identity(directory: string): string {
  const { dev, ino } = Deno.statSync(directory);
  return `${dev}:${ino}`;
}
