import type { Clock, Files } from "../../core/mod.ts";

/** The files of one side of TLS: who we are, and whom we believe. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The same as their texts. */
export type TlsTexts = TlsFiles;

/** What they hold now: files that are renewed count from the next connection on. */
export async function readTls({ ca, cert, key }: TlsFiles, files: Files): Promise<TlsTexts> {
  const read = (path: string | undefined) =>
    path === undefined ? Promise.resolve(undefined) : files.readText(path, { limit: 1024 * 1024 });
  const [caText, certText, keyText] = await Promise.all([read(ca), read(cert), read(key)]);
  return {
    ...(caText !== undefined && { ca: caText }),
    ...(certText !== undefined && { cert: certText }),
    ...(keyText !== undefined && { key: keyText }),
  };
}

/** The same for who has many connections: files that are renewed count a second later. */
export class WatchedTls {
  readonly #tls: TlsFiles;
  readonly #files: Files;
  readonly #clock: Clock;
  #texts: Promise<TlsTexts> | undefined;
  #readAt = 0;

  constructor(tls: TlsFiles, { files, clock }: { readonly files: Files; readonly clock: Clock }) {
    this.#tls = tls;
    this.#files = files;
    this.#clock = clock;
  }

  /** What they held less than a second ago. */
  async read(): Promise<TlsTexts> {
    const now = this.#clock.now();
    if (!this.#texts || now - this.#readAt >= 1000) {
      this.#readAt = now;
      this.#texts = readTls(this.#tls, this.#files);
    }
    const texts = this.#texts;
    try {
      return await texts;
    } catch (error) {
      // The next one tries again.
      if (this.#texts === texts) this.#texts = undefined;
      throw error;
    }
  }
}
