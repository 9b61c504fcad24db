import type { Files } from "../world/mod.ts";

/** The file that says where a ready instance accepts clients, an address a line; it goes when the instance does. */
export class ReadyFile {
  readonly #files: Pick<Files, "replace" | "remove">;
  readonly #path: string | undefined;
  #state: "absent" | "written" | "removed" = "absent";
  /** Settles when the last write has ended; it never fails. */
  #writing: Promise<unknown> = Promise.resolve();

  /** Without a path nothing is written. */
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

  /** Removes the file for good. A file that could not be written belongs to someone else and stays. */
  async remove(): Promise<void> {
    const isOurs = this.#state === "written";
    this.#state = "removed";
    await this.#writing;
    if (isOurs && this.#path !== undefined) await this.#files.remove(this.#path);
  }
}
