import type { Files } from "./world.ts";

/** The text of a file, read on first use and again after a change. */
export class FreshText {
  readonly path: string;
  readonly #files: Files;
  #stamp: string | undefined;
  #text = "";

  constructor(path: string, files: Files) {
    this.path = path;
    this.#files = files;
  }

  async read(): Promise<string> {
    const info = await this.#files.info(this.path);
    const stamp = info && `${info.modified}/${info.size}`;
    if (stamp === undefined || stamp !== this.#stamp) {
      this.#text = await this.#files.readText(this.path, { limit: 1024 * 1024 });
      this.#stamp = stamp;
    }
    return this.#text;
  }

  /** Forces the next call to read the file, even if its date is unchanged. */
  forget(): void {
    this.#stamp = undefined;
  }
}
