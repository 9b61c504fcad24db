import { PosternError } from "../../words/mod.ts";

/** How many to keep: slow clients must not prevent answers to others. */
const most = 8;

/**
 * Reserved descriptors for the moment when the process has no other left. For each one that it closes, it can
 * accept one more client and reject it with an answer. Until all are reserved again, nothing else may be
 * opened; otherwise a dial would take the descriptor of that client.
 */
export class SpareDescriptors {
  readonly #files: Deno.FsFile[] = [];
  #holders = 0;
  #isSpent = false;

  /** Reserves the descriptors with the first listener. */
  hold(): void {
    if (this.#holders++ === 0) this.#fill();
  }

  /** Releases them with the last listener. */
  release(): void {
    if (--this.#holders > 0) return;
    for (const file of this.#files.splice(0)) file.close();
    this.#isSpent = false;
  }

  /** Releases one; false when none is left. */
  spend(): boolean {
    const file = this.#files.pop();
    if (!file) return false;
    file.close();
    this.#isSpent = true;
    return true;
  }

  /** Reserves again as many as possible; returns whether all are reserved. */
  keep(): boolean {
    if (this.#isSpent && this.#holders > 0) this.#fill();
    return !this.#isSpent;
  }

  /** Whether one more descriptor is available, in addition to the reserve. */
  hasRoom(): boolean {
    if (!this.keep()) return false;
    // Without a reserve, assume that one is available.
    if (this.#files.length === 0) return true;
    const file = openAnything();
    file?.close();
    return file !== undefined;
  }

  /** Throws while clients need the last descriptors. */
  demandRoom(what: string): void {
    if (this.#isSpent && !this.keep()) throw tooManyFiles(what);
  }

  #fill(): void {
    while (this.#files.length < most) {
      const file = openAnything();
      if (!file) return;
      this.#files.push(file);
    }
    this.#isSpent = false;
  }
}

/** The error for a missing descriptor. */
export function tooManyFiles(what: string, cause?: unknown): PosternError {
  return new PosternError("internal", `Cannot open ${what}`, {
    cause,
    reason: "too many open files",
    detail: "overloaded",
    hint: "raise the limit of open files: ulimit -n",
  });
}

/** Whether so many descriptors are free. Deno reveals no limit, so this opens as many files and closes them. */
export function hasRoom(descriptors: number): boolean {
  if (Deno.build.os === "windows") return true;
  const files: Deno.FsFile[] = [];
  try {
    while (files.length < descriptors) files.push(Deno.openSync("/dev/null", { read: true }));
    return true;
  } catch (error) {
    // Without the permission for the file, the limit shows when a listener cannot be opened.
    return error instanceof Deno.errors.NotCapable;
  } finally {
    for (const file of files) file.close();
  }
}

/** Opens a file to occupy a descriptor; undefined without the file, the permission or a free descriptor. */
function openAnything(): Deno.FsFile | undefined {
  if (Deno.build.os === "windows") return undefined;
  try {
    return Deno.openSync("/dev/null", { read: true });
  } catch {
    return undefined;
  }
}
