import type { KubeContext } from "../api/kube_context.ts";
import { directoryOf, type Files } from "../../world/mod.ts";
import { hexText, sha256 } from "../../core/mod.ts";

/** Maximum size of a file in bytes. */
const longest = 16 * 1024 * 1024;

/** Stores the learned facts of one cluster between runs, in a 0600 file in the cache. */
export interface LearnedStore {
  /** Undefined if nothing is stored. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/**
 * Derives the file name from the API server's address and certificate authority, which identify a cluster.
 */
export function learnedStore(
  { cluster: { server, ca } }: Pick<KubeContext, "cluster">,
  { files, directory }: {
    readonly files: Pick<Files, "readText" | "readTextIfThere" | "privateDirectory" | "replace">;
    readonly directory: string;
  },
): LearnedStore {
  const path = async () => {
    const authority = ca === undefined
      ? ""
      : "pem" in ca
      ? ca.pem
      : await files.readText(ca.file, { limit: longest });
    const digest = await sha256(`${server.href}\n${authority.trim()}`);
    return `${directory}/${hexText(digest).slice(0, 32)}.json`;
  };
  return {
    read: async () => await files.readTextIfThere(await path(), { limit: longest }),
    async write(text) {
      const file = await path();
      await files.privateDirectory(directoryOf(file));
      await files.replace(file, text);
    },
  };
}
