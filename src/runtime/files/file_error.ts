import { PosternError } from "../../words/mod.ts";
import { isConfined } from "../confined.ts";
import { missingFlag } from "../permissions.ts";

/** What the system says of a file, as one of ours. `what` completes "Cannot …": `read "a.yaml"`. */
export function fileError(error: unknown, what: string): PosternError {
  if (error instanceof PosternError) return error;
  if (error instanceof Deno.errors.NotCapable && error.message.startsWith("Requires all access")) {
    // Deno's own rule for such places; its words for it would send the reader to a flag that is given up at once.
    return new PosternError("config", `Cannot ${what}: it is of the system, and postern may not use it`, {
      hint: "name a file elsewhere: not below /dev, /proc or /sys",
    });
  }
  const flag = missingFlag(error);
  if (flag && isConfined) {
    const why = "this instance gave up the right to it, because its configuration did not need it";
    return new PosternError("not_allowed", `Cannot ${what}: ${why}`, { hint: "restart the instance" });
  }
  if (flag) {
    return new PosternError("not_allowed", `Cannot ${what}: this needs the permission ${flag}`, {
      cause: error,
      hint: `start postern with ${flag}`,
    });
  }
  const known = reasons[systemCode(error)];
  if (known) {
    const { code, reason, hint } = known;
    return new PosternError(
      code,
      `Cannot ${what}: ${reason}`,
      hint ? { cause: error, hint } : { cause: error },
    );
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new PosternError("internal", `Cannot ${what}: ${reason}`, { cause: error });
}

interface Reason {
  readonly code: "config" | "not_allowed" | "internal";
  readonly reason: string;
  readonly hint?: string;
}

const denied: Reason = {
  code: "not_allowed",
  reason: "permission denied",
  hint: "check who owns it and its mode: ls -ld",
};

const reasons: Readonly<Record<string, Reason>> = {
  ENOENT: {
    code: "config",
    reason: "no such file or directory",
    hint: "check the path: a relative one begins where the command is run, or beside the file that names it",
  },
  EISDIR: { code: "config", reason: "is a directory", hint: "name a file, perhaps one in it" },
  ENOTDIR: {
    code: "config",
    reason: "a part of the path is not a directory",
    hint: "check the path, part by part: ls -ld",
  },
  ENAMETOOLONG: { code: "config", reason: "the name is too long" },
  ELOOP: {
    code: "config",
    reason: "too many levels of symbolic links",
    hint: "look where the links lead, perhaps in a circle: ls -l",
  },
  EEXIST: { code: "config", reason: "it exists already" },
  EACCES: denied,
  EPERM: denied,
  EROFS: {
    code: "not_allowed",
    reason: "the file system is read-only",
    hint: "name a place that can be written to, or have one mounted there",
  },
  ENOSPC: {
    code: "internal",
    reason: "no space left",
    hint: "make room on that disk (df -h) or raise the limit it stands for",
  },
  EDQUOT: { code: "internal", reason: "the disk quota is used up", hint: "remove files of yours there" },
  EMFILE: {
    code: "internal",
    reason: "too many open files",
    hint: "raise the limit of open files: ulimit -n",
  },
  ENFILE: {
    code: "internal",
    reason: "the machine has too many open files",
    hint: "end what has them open, or raise the limit of the machine: sysctl fs.file-max",
  },
};

/** Some of Deno's errors come without the system's code; their class says the same. */
function systemCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code === "string") return code;
  if (error instanceof Deno.errors.NotFound) return "ENOENT";
  if (error instanceof Deno.errors.PermissionDenied) return "EACCES";
  if (error instanceof Deno.errors.AlreadyExists) return "EEXIST";
  if (error instanceof Deno.errors.IsADirectory) return "EISDIR";
  if (error instanceof Deno.errors.NotADirectory) return "ENOTDIR";
  return "";
}
