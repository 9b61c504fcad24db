import type { KubeContext } from "../api/kube_context.ts";
import { directoryOf, type Files } from "../../world/mod.ts";
import { hexText, sha256 } from "../../core/mod.ts";

/** A file may not be larger. */
const longest = 16 * 1024 * 1024;

/** Where the learned facts of one cluster are stored between runs: a 0600 file in the cache. */
export interface LearnedStore {
  /** Undefined where nothing is stored. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/** The name of the file is made of the address of the API server and its certificate authority: another one is another cluster. */
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
