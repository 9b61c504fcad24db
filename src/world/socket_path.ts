import { PosternError } from "../words/mod.ts";
import { directoryOf } from "./path.ts";
import type { Process } from "./world.ts";

/** The temporary directory and name in which a socket is bound before it is moved to its path. */
export const boundAs = { directory: ".xxx", name: "s" } as const;

/** Throws if a path does not fit into the address of a unix socket (`sun_path`); the hint names a remedy. */
export function checkSocketPath(path: string, platform: Process["platform"]): void {
  const most = platform === "linux" ? 107 : 103;
  const first = `${directoryOf(path)}/${boundAs.directory}/${boundAs.name}`;
  const length = Math.max(...[path, first].map((one) => new TextEncoder().encode(one).length));
  if (length <= most) return;
  throw new PosternError(
    "config",
    `Cannot use the socket path "${path}": ${length} bytes exceed the system's limit of ${most}`,
    {
      hint: platform === "linux"
        ? "set XDG_RUNTIME_DIR to a shorter directory, or use a shorter --id"
        : "use a shorter path or a shorter --id",
    },
  );
}
