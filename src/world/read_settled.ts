import type { Clock } from "../core/mod.ts";
import type { Files } from "./world.ts";

/**
 * Reads files that another program may be saving. Many programs truncate a file before they write it. A file
 * that changed a moment ago may therefore be incomplete, and is read again.
 */
export async function readSettled<T>(
  paths: string | readonly string[],
  { files, clock }: { readonly files: Pick<Files, "info">; readonly clock: Clock },
  read: () => Promise<T>,
): Promise<T> {
  for (let left = mostReads;; left--) {
    // The time before reading: on a busy machine a file may change and settle during a slow read.
    const began = clock.date().getTime();
    const content = await read();
    const infos = await Promise.all([paths].flat().map((path) => files.info(path)));
    const modified = Math.max(...infos.map((info) => info?.modified ?? -Infinity));
    // A modification time in the future comes from a machine with another clock and means nothing.
    const isForeign = modified > clock.date().getTime();
    if (left <= 1 || isForeign || modified <= began - moment) return content;
    await new Promise<void>((resolve) => void clock.after(moment, resolve));
  }
}

/** How long a program may take between two steps of a save, in ms. */
const moment = 50;
/** After this many reads the file is used as it is. */
const mostReads = 10;
