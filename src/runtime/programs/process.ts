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
  /** Where `main.ts` is: its `import.meta.url`. */
  readonly main: string;
  /** The permissions with which postern starts itself again from source. */
  readonly flags: readonly string[];
  /** What may be given up later. */
  readonly rights?: Rights;
}

/** This process and its children. Nothing is asked of the system, and so no permission needed, before it is read. */
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
      return needing("tell the user's id", () => Deno.uid() ?? undefined);
    },
    get self() {
      return isCompiled ? [lastingPath(Deno.execPath())] : [Deno.execPath(), "run", ...flags, main];
    },
    get directory() {
      return needing("tell the working directory", () => Deno.cwd());
    },
    get hostName() {
      return needing("tell this machine's name", () => Deno.hostname());
    },
    env: (name) => needing(`read the variable ${name}`, () => variable(name)),
    async account() {
      const { userInfo } = await import("node:os");
      const { username: name, homedir: home } = needing("tell who runs this", userInfo);
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
  throw new PosternError("internal", `Cannot run on ${os}: only Linux, macOS and Windows are known`);
}

function needing<T>(what: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    throw fileError(error, what);
  }
}
