import type { Clock } from "../../core/mod.ts";
import { type Files, readSettled } from "../../world/mod.ts";

/** The files of one side of TLS: who we are, and whom we believe. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The same as their texts. */
export type TlsTexts = TlsFiles;

/** Where they are, and how one knows that they rest. */
export interface TlsWorld {
  readonly files: Files;
  readonly clock: Clock;
}

/** What they hold now: files that are renewed count from the next connection on, a certificate with its key. */
export function readTls(tls: TlsFiles, world: TlsWorld): Promise<TlsTexts> {
  const paths = [tls.ca, tls.cert, tls.key].filter((path) => path !== undefined);
  return readSettled(paths, world, () => readOnce(tls, world));
}

async function readOnce({ ca, cert, key }: TlsFiles, { files }: TlsWorld): Promise<TlsTexts> {
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
  readonly #world: TlsWorld;
  #texts: Promise<TlsTexts> | undefined;
  #readAt = 0;

  constructor(tls: TlsFiles, world: TlsWorld) {
    this.#tls = tls;
    this.#world = world;
  }

  /** What they held less than a second ago. */
  async read(): Promise<TlsTexts> {
    const now = this.#world.clock.now();
    if (!this.#texts || now - this.#readAt >= 1000) {
      this.#readAt = now;
      this.#texts = readTls(this.#tls, this.#world);
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
