import { PosternError } from "../../words/mod.ts";

/** How many are kept: clients that are slow to say what they want must not keep others from an answer. */
const most = 8;

/**
 * Descriptors that are kept for the moment when none is left: each one given up lets one more client be accepted and
 * told so. Until all are back nothing else may be opened, or a dial would take what was meant for that client.
 */
export class SpareDescriptors {
  readonly #files: Deno.FsFile[] = [];
  #holders = 0;
  #isSpent = false;

  /** Kept from the first listener on. */
  hold(): void {
    if (this.#holders++ === 0) this.#fill();
  }

  /** Given back with the last one. */
  release(): void {
    if (--this.#holders > 0) return;
    for (const file of this.#files.splice(0)) file.close();
    this.#isSpent = false;
  }

  /** Gives one up; false when all are given up, or none was ever there. */
  spend(): boolean {
    const file = this.#files.pop();
    if (!file) return false;
    file.close();
    this.#isSpent = true;
    return true;
  }

  /** Takes back what was given up, as far as there is room; whether all are there. */
  keep(): boolean {
    if (this.#isSpent && this.#holders > 0) this.#fill();
    return !this.#isSpent;
  }

  /** Whether one more could be opened, besides the spare ones. */
  hasRoom(): boolean {
    if (!this.keep()) return false;
    // Where none can be kept, there is no telling.
    if (this.#files.length === 0) return true;
    const file = openAnything();
    file?.close();
    return file !== undefined;
  }

  /** Fails while the last descriptors are needed for clients. */
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

/** The failure to open one more. */
export function tooManyFiles(what: string, cause?: unknown): PosternError {
  return new PosternError("internal", `Cannot open ${what}`, {
    cause,
    reason: "too many open files",
    detail: "overloaded",
    hint: "raise the limit of open files: ulimit -n",
  });
}

/** Anything that holds a descriptor; nothing where there is no such file, or no permission or descriptor for it. */
function openAnything(): Deno.FsFile | undefined {
  if (Deno.build.os === "windows") return undefined;
  try {
    return Deno.openSync("/dev/null", { read: true });
  } catch {
    return undefined;
  }
}
