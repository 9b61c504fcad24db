import type { Files } from "../../core/mod.ts";

/** The files of one side of TLS: who we are, and whom we believe. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** What they hold now: files that are renewed count from the next connection on. */
export async function readTls(
  { ca, cert, key }: TlsFiles,
  files: Files,
): Promise<{ ca?: string; cert?: string; key?: string }> {
  const read = (path: string | undefined) =>
    path === undefined ? Promise.resolve(undefined) : files.readText(path, { limit: 1024 * 1024 });
  const [caText, certText, keyText] = await Promise.all([read(ca), read(cert), read(key)]);
  return {
    ...(caText !== undefined && { ca: caText }),
    ...(certText !== undefined && { cert: certText }),
    ...(keyText !== undefined && { key: keyText }),
  };
}
