import type { Files } from "../world/mod.ts";

/** A file with the addresses of a ready instance, one per line. The instance removes it when it stops. */
export class ReadyFile {
  readonly #files: Pick<Files, "replace" | "remove">;
  readonly #path: string | undefined;
  #state: "absent" | "written" | "removed" = "absent";
  /** Settles when the last write has ended; never rejects. */
  #writing: Promise<unknown> = Promise.resolve();

  /** Writes nothing without a path. */
  constructor(files: Pick<Files, "replace" | "remove">, path: string | undefined) {
    this.#files = files;
    this.#path = path;
  }

  async write(addresses: readonly string[]): Promise<void> {
    if (this.#path === undefined || this.#state === "removed") return;
    const writing = this.#files.replace(this.#path, addresses.map((address) => `${address}\n`).join(""));
    this.#writing = Promise.allSettled([writing]);
    await writing;
    if (this.#state === "absent") this.#state = "written";
  }

  /**
   * Removes the file and stops writing. Keeps a file that this instance could not write: another process owns
   * it.
   */
  async remove(): Promise<void> {
    const isOurs = this.#state === "written";
    this.#state = "removed";
    await this.#writing;
    if (isOurs && this.#path !== undefined) await this.#files.remove(this.#path);
  }
}
