import { PosternError } from "./errors.ts";
import type { Process } from "./world.ts";

/** Refuses a path that does not fit into the address of a unix socket (`sun_path`), with what to do about it. */
export function checkSocketPath(path: string, platform: Process["platform"]): void {
  const most = platform === "linux" ? 107 : 103;
  const length = new TextEncoder().encode(path).length;
  if (length <= most) return;
  throw new PosternError(
    "config",
    `Cannot use the socket path "${path}": it has ${length} bytes, the system allows ${most}`,
    { hint: "set XDG_RUNTIME_DIR or TMPDIR to a shorter directory, or take a shorter --id" },
  );
}
