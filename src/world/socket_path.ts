import { PosternError } from "../words/mod.ts";
import { directoryOf } from "./path.ts";
import type { Process } from "./world.ts";

/** What a socket is called in the directory that it is bound in, before it is moved to its own place. */
export const boundAs = { directory: ".xxx", name: "s" } as const;

/** Refuses a path that does not fit into the address of a unix socket (`sun_path`), with what to do about it. */
export function checkSocketPath(path: string, platform: Process["platform"]): void {
  const most = platform === "linux" ? 107 : 103;
  const first = `${directoryOf(path)}/${boundAs.directory}/${boundAs.name}`;
  const length = Math.max(...[path, first].map((one) => new TextEncoder().encode(one).length));
  if (length <= most) return;
  throw new PosternError(
    "config",
    `Cannot use the socket path "${path}": it needs ${length} bytes, the system allows ${most}`,
    {
      hint: platform === "linux"
        ? "set XDG_RUNTIME_DIR to a shorter directory, or take a shorter --id"
        : "take a shorter path, or a shorter --id",
    },
  );
}
