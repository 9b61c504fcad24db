import { PosternError } from "../../words/mod.ts";
import { fileError } from "./file_error.ts";

/** What `checkOwned` can check. */
export type OwnedKind = "directory" | "socket" | "lock file";

/** Why another user may control a path, and how to fix that. */
export interface Flaw {
  readonly why: string;
  readonly hint: string;
}

/**
 * Whether `path` exists. Throws unless it is a file of this kind that only we control: not a link, owned by
 * our user and closed to others. For a directory, no other user may be able to change one above it; directories
 * that we cannot inspect are not checked.
 */
export function checkOwned(path: string, kind: OwnedKind): boolean {
  const found = look(path, Deno.errors.NotFound);
  if (!found) return false;
  const flaw = flawOf(path, kind, found) ?? (kind === "directory" ? flawAbove(path) : undefined);
  if (!flaw) return true;
  throw new PosternError("config", `Cannot trust the ${kind} "${path}": ${flaw.why}`, {
    hint: flaw.hint,
    detail: "untrusted",
  });
}

/**
 * Returns the flaw of the file itself. Windows reports neither owner nor mode: there it is in the user's
 * profile.
 */
export function flawOf(path: string, kind: OwnedKind, found: Deno.FileInfo): Flaw | undefined {
  if (found.isSymlink) {
    return { why: "it is a symbolic link", hint: `remove the link: rm "${path}"` };
  }
  const isRight = { directory: found.isDirectory, socket: found.isSocket, "lock file": found.isFile }[kind];
  if (!isRight && !(kind === "socket" && found.isSocket === null)) {
    return { why: `it is not a ${kind}`, hint: `check what it is, and move it away: ls -ld "${path}"` };
  }
  const { mode, uid } = found;
  if (mode === null || uid === null) return undefined;
  if (uid !== Deno.uid()) {
    const hint = kind === "directory"
      ? "remove it, or set XDG_RUNTIME_DIR to your own directory"
      : `remove it: rm "${path}"`;
    return { why: `it belongs to another user (${uid})`, hint };
  }
  // Connecting to a socket needs write permission. Earlier versions of postern left the other bits set.
  const isOpen = kind === "socket" ? isWritable(found, uid) : (mode & 0o077) !== 0;
  if (!isOpen) return undefined;
  const closed = kind === "directory" ? "700" : "600";
  return {
    why: `other users have access to it (mode ${modeText(mode)})`,
    hint: `check its content, then run: chmod ${closed} "${path}"`,
  };
}

/**
 * Returns the first flaw in the directories above `path`, and above the targets of links: another user could
 * replace the file there.
 */
export function flawAbove(path: string): Flaw | undefined {
  const ours = Deno.uid();
  if (ours === null) return undefined;
  // In a user namespace, root has another number: the owner of the root directory is root.
  const trusted = new Set([ours, 0, lookIfAllowed("/")?.uid ?? 0]);
  for (const directory of new Set([...above(path), ...above(realPath(path))])) {
    const found = lookIfAllowed(directory);
    if (!found || found.mode === null || found.uid === null) continue;
    const hint =
      `set XDG_RUNTIME_DIR to a directory that only you can change, or check: ls -ld "${directory}"`;
    if (!trusted.has(found.uid)) {
      return { why: `"${directory}" belongs to another user (${found.uid})`, hint };
    }
    const isSticky = (found.mode & 0o1000) !== 0;
    if (found.isSymlink || isSticky || !isWritable(found, found.uid)) continue;
    return { why: `other users can write to "${directory}" (mode ${modeText(found.mode)})`, hint };
  }
  return undefined;
}

/**
 * Whether another user can write. A group whose number is the owner's is that user's private group; group 0
 * counts as root.
 */
function isWritable({ mode, gid }: Deno.FileInfo, owner: number): boolean {
  const bits = mode ?? 0;
  const isOwnGroup = gid === owner || gid === 0;
  return (bits & 0o002) !== 0 || ((bits & 0o020) !== 0 && !isOwnGroup);
}

function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** Yields all directories of a path, the root first. */
function* above(path: string): Generator<string> {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const directory = path.slice(0, at) || "/";
    if (directory !== path) yield directory;
  }
}

function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch (error) {
    throw fileError(error, `inspect "${path}"`);
  }
}

/** Inspects a path without following a link; undefined for one kind of error. */
function look(path: string, unless: typeof Deno.errors.NotFound): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof unless) return undefined;
    throw fileError(error, `inspect "${path}"`);
  }
}

/** A command from source may inspect only its own directories; its launcher has inspected those above. */
function lookIfAllowed(path: string): Deno.FileInfo | undefined {
  return look(path, Deno.errors.NotCapable);
}
