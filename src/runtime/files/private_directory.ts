import { PosternError } from "../../words/mod.ts";
import { fileError } from "./file_error.ts";
import { flawOf } from "./ownership.ts";

/**
 * Creates a directory that only we can enter, and its missing parents. An existing one must be our
 * own real directory that other users cannot write to; the function removes their read access.
 */
export async function privateDirectory(path: string): Promise<void> {
  try {
    if (await make(path)) return;
  } catch (error) {
    throw fileError(error, `create the directory "${path}"`);
  }
  try {
    await claim(path);
  } catch (error) {
    throw fileError(error, `use the directory "${path}"`);
  }
}

/**
 * Returns false when the path exists. Creates parents only if they are missing: we may have no write access
 * to them.
 */
async function make(path: string): Promise<boolean> {
  try {
    await Deno.mkdir(path, { mode: 0o700 }).catch(async (error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      // Create the parents in the same call: it needs only the permission for this directory.
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
