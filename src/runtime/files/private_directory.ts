import { PosternError } from "../../words/mod.ts";
import { fileError } from "./file_error.ts";
import { flawOf } from "./ownership.ts";

/**
 * Makes a directory that only we may enter, and its parents where they are missing. One that exists must be a real
 * directory of ours that others cannot write to; if others can read it, that ends here.
 */
export async function privateDirectory(path: string): Promise<void> {
  try {
    if (await make(path)) return;
  } catch (error) {
    throw fileError(error, `make the directory "${path}"`);
  }
  try {
    await claim(path);
  } catch (error) {
    throw fileError(error, `use the directory "${path}"`);
  }
}

/** False when something is there already. The parents are touched only where they are missing: they may not be ours to write. */
async function make(path: string): Promise<boolean> {
  try {
    await Deno.mkdir(path, { mode: 0o700 }).catch(async (error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      // With its parents in one call: that needs the permission for this directory only.
      await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

async function claim(path: string): Promise<void> {
  const found = await Deno.lstat(path);
  const isReadable = found.isDirectory && found.uid === Deno.uid() && ((found.mode ?? 0) & 0o022) === 0;
  if (isReadable && ((found.mode ?? 0) & 0o077) !== 0) return await Deno.chmod(path, 0o700);
  const flaw = flawOf(path, "directory", found);
  if (!flaw) return;
  throw new PosternError("config", `Cannot use the directory "${path}": ${flaw.why}`, { hint: flaw.hint });
}
