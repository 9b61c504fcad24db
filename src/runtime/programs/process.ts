import type { Clock } from "../../core/mod.ts";
import type { Files, Process } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { runAttached } from "./attached_program.ts";
import { startBackground } from "./background_program.ts";
import { variable } from "./environment.ts";
import { fileError } from "../files/file_error.ts";
import { lastingPath } from "../files/lasting_path.ts";
import { mayRun, Rights } from "../permissions.ts";
import { pipeProgram } from "./piped_program.ts";
import { refusedProgram } from "./refused_program.ts";
import { runProgram } from "./run_program.ts";
import { listenForSignal } from "./signals.ts";

export interface ProcessOptions {
  readonly clock: Clock;
  readonly files: Pick<Files, "append">;
  /** The `import.meta.url` of `main.ts`. */
  readonly main: string;
  /** The permissions with which postern restarts itself from source. */
  readonly flags: readonly string[];
  /** The permissions that can be dropped later. */
  readonly rights?: Rights;
}

/**
 * Provides access to this process and its children. It reads each value, which may need a permission, only
 * on demand.
 */
export function createProcess(
  { clock, files, main, flags, rights = new Rights() }: ProcessOptions,
): Process {
  const isCompiled = Deno.build.standalone;
  const permitted = <T>([program = ""]: readonly string[], start: () => Promise<T>): Promise<T> => {
    const refusal = refusedProgram(program, rights);
    return refusal ? Promise.reject(refusal) : start();
  };
  return {
    platform: platform(),
    arch: Deno.build.arch,
    pid: Deno.pid,
    isCompiled,
    get uid() {
      return needing("read the user's id", () => Deno.uid() ?? undefined);
    },
    get self() {
      return isCompiled ? [lastingPath(Deno.execPath())] : [Deno.execPath(), "run", ...flags, main];
    },
    get directory() {
      return needing("read the working directory", () => Deno.cwd());
    },
    get hostName() {
      return needing("read this machine's name", () => Deno.hostname());
    },
    env: (name) => needing(`read the variable ${name}`, () => variable(name)),
    async account() {
      const { userInfo } = await import("node:os");
      const { username: name, homedir: home } = needing("read the user's name", userInfo);
      return { name, home };
    },
    on: listenForSignal,
    mayRun,
    keepOnly: (needs) => rights.keepOnly(needs),
    missing: (needs) => rights.missing(needs),
    run: (command, options) => permitted(command, () => runProgram(command, options, clock)),
    pipe: (command, options) => permitted(command, () => pipeProgram(command, options, clock)),
    attached: (command, options) => runAttached(command, options, clock),
    background: (command, options) => startBackground(command, options, { files, clock }),
    memory: () => Deno.memoryUsage().rss,
  };
}

function platform(): Process["platform"] {
  const { os } = Deno.build;
  if (os === "linux" || os === "darwin" || os === "windows") return os;
  throw new PosternError("internal", `Cannot run on ${os}: postern supports Linux, macOS and Windows`);
}

function needing<T>(what: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    throw fileError(error, what);
  }
}
