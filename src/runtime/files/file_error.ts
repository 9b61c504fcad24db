import { PosternError } from "../../words/mod.ts";
import { isConfined } from "../confined.ts";
import { missingFlag } from "../permissions.ts";

/** Translates an error of the file system. `what` completes "Cannot …": `read "a.yaml"`. */
export function fileError(error: unknown, what: string): PosternError {
  if (error instanceof PosternError) return error;
  if (error instanceof Deno.errors.NotCapable && error.message.startsWith("Requires all access")) {
    // Deno forbids these places; its own message would suggest a flag that postern never has.
    return new PosternError("config", `Cannot ${what}: postern has no access to files of the system`, {
      hint: "use a file outside /dev, /proc and /sys",
    });
  }
  const flag = missingFlag(error);
  if (flag && isConfined) {
    const why = "this instance gave up the permission to use it, because its configuration did not need it";
    return new PosternError("not_allowed", `Cannot ${what}: ${why}`, { hint: "restart the instance" });
  }
  if (flag) {
    return new PosternError("not_allowed", `Cannot ${what}: missing permission ${flag}`, {
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
  hint: "check its owner and mode: ls -ld",
};

const reasons: Readonly<Record<string, Reason>> = {
  ENOENT: {
    code: "config",
    reason: "no such file or directory",
    hint: "check the path, or use an absolute path",
  },
  EISDIR: { code: "config", reason: "is a directory", hint: "use a file instead of the directory" },
  ENOTDIR: {
    code: "config",
    reason: "a part of the path is not a directory",
    hint: "check each part of the path: ls -ld",
  },
  ENAMETOOLONG: { code: "config", reason: "the name is too long" },
  ELOOP: {
    code: "config",
    reason: "too many levels of symbolic links",
    hint: "check the links for a loop: ls -l",
  },
  EEXIST: { code: "config", reason: "it already exists" },
  EACCES: denied,
  EPERM: denied,
  EROFS: {
    code: "not_allowed",
    reason: "the file system is read-only",
    hint: "use a writable place, or mount one there",
  },
  ENOSPC: {
    code: "internal",
    reason: "no space left",
    hint: "free space on that disk (df -h), or raise its limit",
  },
  EDQUOT: {
    code: "internal",
    reason: "the disk quota is exhausted",
    hint: "remove some of your files there",
  },
  EMFILE: {
    code: "internal",
    reason: "too many open files",
    hint: "raise the limit of open files: ulimit -n",
  },
  ENFILE: {
    code: "internal",
    reason: "the machine has too many open files",
    hint: "stop programs with many open files, or raise the machine's limit: sysctl fs.file-max",
  },
};

/** Returns the system's code; some of Deno's errors have only a class that implies it. */
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
