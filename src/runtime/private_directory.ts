import { PosternError } from "../core/mod.ts";
import { fileError } from "./file_error.ts";

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
  const refuse = (why: string, hint: string) =>
    new PosternError("config", `Cannot use the directory "${path}": ${why}`, { hint });
  if (found.isSymlink) {
    throw refuse("it is a symbolic link", "remove the link: it may lead to another user's place");
  }
  if (!found.isDirectory) throw refuse("it is not a directory", "move that file away");
  // Windows has neither owner nor mode here; there the place lies in the user's own profile.
  if (found.mode === null || found.uid === null) return;
  if (found.uid !== Deno.uid()) {
    throw refuse(
      "it belongs to another user",
      "remove it, or set XDG_RUNTIME_DIR or TMPDIR to a directory of yours",
    );
  }
  if (found.mode & 0o022) {
    throw refuse("others can write to it", `look at what is in it, then: chmod 700 ${path}`);
  }
  if (found.mode & 0o077) await Deno.chmod(path, 0o700);
}
