import type { Clock } from "./clock.ts";
import type { Files } from "./world.ts";

/**
 * Reads a file that others may be saving just now. Many empty a file before they write it anew: what was changed a moment
 * ago may be nothing, or half of what it will be, and is read again.
 */
export async function readSettled<T>(
  path: string,
  { files, clock }: { readonly files: Pick<Files, "info">; readonly clock: Clock },
  read: () => Promise<T>,
): Promise<T> {
  for (let left = mostReads;; left--) {
    const content = await read();
    const info = await files.info(path);
    // A file of the future is of a machine whose clock goes differently: it says nothing.
    const age = info ? clock.date().getTime() - info.modified : Infinity;
    if (left <= 1 || age < 0 || age >= moment) return content;
    await new Promise<void>((resolve) => void clock.after(moment, resolve));
  }
}

/** How long, in ms, whoever saves a file may take between two steps. */
const moment = 50;
/** A file that never rests is taken as it is. */
const mostReads = 10;
