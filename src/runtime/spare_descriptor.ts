import { PosternError } from "../core/mod.ts";

/**
 * One descriptor that is kept for the moment when none is left: given up, it lets one more client be accepted and
 * told so. Until it is back nothing else may be opened, or a dial would take what was meant for that client.
 */
export class SpareDescriptor {
  #file: Deno.FsFile | undefined;
  #holders = 0;
  #isSpent = false;

  /** Kept from the first listener on. */
  hold(): void {
    if (this.#holders++ === 0) this.#file = openAnything();
  }

  /** Given back with the last one. */
  release(): void {
    if (--this.#holders > 0) return;
    this.#file?.close();
    this.#file = undefined;
    this.#isSpent = false;
  }

  /** Gives the descriptor up; false when it is given up already, or was never there. */
  spend(): boolean {
    if (!this.#file) return false;
    this.#file.close();
    this.#file = undefined;
    this.#isSpent = true;
    return true;
  }

  /** Takes it back if there is one again; whether it is there. */
  keep(): boolean {
    if (this.#isSpent && this.#holders > 0) this.#file ??= openAnything();
    if (this.#file) this.#isSpent = false;
    return !this.#isSpent;
  }

  /** Whether one more could be opened, besides the spare one. */
  hasRoom(): boolean {
    if (!this.#file) return !this.#isSpent || this.keep();
    const file = openAnything();
    file?.close();
    return file !== undefined;
  }

  /** Fails while the last descriptor is needed for clients. */
  demandRoom(what: string): void {
    if (this.#isSpent && !this.keep()) throw tooManyFiles(what);
  }
}

/** The failure to open one more. */
export function tooManyFiles(what: string, cause?: unknown): PosternError {
  return new PosternError("internal", `Cannot open ${what}: too many open files`, {
    cause,
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
