import type { Clock } from "../../core/mod.ts";
import { fileError } from "./file_error.ts";

/** How long a directory must stay quiet before a report, in ms: an editor's save causes many events. */
const quiet = 200;
/** How long constant changes may delay a report, in ms. */
const longest = 2000;
/** How often to look for a missing directory, in ms. */
const searchEvery = 1000;

/**
 * Calls `changed` after a change in a directory and 200 ms without another, or after two seconds. Looks for a
 * missing, removed or replaced directory every second; its return counts as a change.
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
  /** The time of the first unreported change. */
  #since: number | undefined;
  #isClosed = false;

  constructor(directory: string, changed: () => void, clock: Clock) {
    this.#directory = directory;
    this.#changed = changed;
    this.#clock = clock;
  }

  /** Throws when watching is impossible; waits for a missing directory. */
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

  /** Never rejects: a failed watcher is treated like a removed directory. */
  async #follow(watcher: Deno.FsWatcher): Promise<void> {
    try {
      for await (const { kind } of watcher) if (kind !== "access") this.#settle();
    } catch {
      // The search below opens the directory again, or retries every second.
    }
    if (this.#isClosed) return;
    this.#close();
    // Wait for the old watcher's end: Deno 2.9 joins watchers of one path, and the new one would receive no
    // events.
    this.#reopen();
  }

  /** Restarts the quiet time, up to the longest delay. */
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

  /** Whether the path still leads to the watched directory. */
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
