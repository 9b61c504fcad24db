import type { Clock } from "../../core/mod.ts";
import { type Files, readSettled } from "../../world/mod.ts";

/** The TLS files of one side: its certificate and key, and the CA it trusts. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The contents of these files. */
export type TlsTexts = TlsFiles;

/** The file system, and the clock that detects when files stop changing. */
export interface TlsWorld {
  readonly files: Files;
  readonly clock: Clock;
}

/** Reads the current files; a renewed certificate and its key apply to the next connection. */
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

/** TLS files for many connections: renewed files apply after at most a second. */
export class WatchedTls {
  readonly #tls: TlsFiles;
  readonly #world: TlsWorld;
  #texts: Promise<TlsTexts> | undefined;
  #readAt = 0;

  constructor(tls: TlsFiles, world: TlsWorld) {
    this.#tls = tls;
    this.#world = world;
  }

  /** Returns contents at most a second old. */
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
      // The next call retries.
      if (this.#texts === texts) this.#texts = undefined;
      throw error;
    }
  }
}
