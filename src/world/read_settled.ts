import type { Clock } from "../core/mod.ts";
import type { Files } from "./world.ts";

/**
 * Reads a file that others may be saving just now, or files that belong together. Many empty a file before they write it
 * anew: what was changed a moment ago may be nothing, or half of what it will be, and is read again.
 */
export async function readSettled<T>(
  paths: string | readonly string[],
  { files, clock }: { readonly files: Pick<Files, "info">; readonly clock: Clock },
  read: () => Promise<T>,
): Promise<T> {
  for (let left = mostReads;; left--) {
    // Not when the reading is over: on a busy machine the file may have been saved, and rested, meanwhile.
    const began = clock.date().getTime();
    const content = await read();
    const infos = await Promise.all([paths].flat().map((path) => files.info(path)));
    const modified = Math.max(...infos.map((info) => info?.modified ?? -Infinity));
    // A file of the future is of a machine whose clock goes differently: it says nothing.
    const isForeign = modified > clock.date().getTime();
    if (left <= 1 || isForeign || modified <= began - moment) return content;
    await new Promise<void>((resolve) => void clock.after(moment, resolve));
  }
}

/** How long, in ms, whoever saves a file may take between two steps. */
const moment = 50;
/** A file that never rests is taken as it is. */
const mostReads = 10;
