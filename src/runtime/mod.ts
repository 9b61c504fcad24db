import type { Places, World } from "../world/mod.ts";
import { createFiles } from "./files/files.ts";
import { createNetwork } from "./network/network.ts";
import type { Rights } from "./permissions.ts";
import { placesFor } from "./files/places.ts";
import { createProcess } from "./programs/process.ts";
import { createStores } from "./files/stores.ts";
import { systemClock } from "./system_clock.ts";
import { createTerminal } from "./terminal/terminal.ts";

export { exit, isConfined, runConfined, type WorkerPermissions } from "./confined.ts";
export { copyEnvironment, hideEnvironment } from "./programs/environment.ts";
export { type DenoPermission, keepOnly, missingFlag, type NeedsTable, Rights } from "./permissions.ts";
export { writeStderr } from "./terminal/terminal.ts";

export interface WorldOptions {
  /** The `import.meta.url` of `main.ts`. */
  readonly main: string;
  /** The permissions with which postern restarts itself from source. */
  readonly flags: readonly string[];
  /** The permissions that can be dropped later. */
  readonly rights?: Rights;
}

/** Provides access to the real system. It makes no request; each part does so on first use. */
export function createWorld(options: WorldOptions): World {
  const clock = systemClock;
  const files = createFiles(clock);
  const process = createProcess({ clock, files, ...options });
  let places: Places | undefined;
  return {
    clock,
    process,
    network: createNetwork(),
    files,
    stores: createStores(),
    terminal: createTerminal(),
    get places() {
      return places ??= placesFor(process);
    },
  };
}
