import type { AppendFile, Background, BackgroundOptions, Files } from "../../world/mod.ts";
import type { Clock } from "../../core/mod.ts";
import { ProgramEnd } from "./program_end.ts";
import { spawnProgram } from "./spawn_program.ts";

/**
 * Starts a program in a separate session; it continues when we end, unless the signal ends it first. Until
 * `release`, its stderr is appended to the log. Afterwards the program writes that file itself (`--log-file`)
 * and must survive a closed stderr, as postern does. `Deno.Command` cannot pass a file to a child, and node's
 * `spawn`, which can, needs the whole environment.
 */
export async function startBackground(
  command: readonly string[],
  { log, signal, env }: BackgroundOptions,
  { files, clock }: { files: Pick<Files, "append">; clock: Clock },
): Promise<Background> {
  const file = await files.append(log);
  let child: Deno.ChildProcess;
  try {
    child = spawnProgram(command, { env, stdin: "null", stdout: "null", stderr: "piped", detached: true });
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
  const released = new AbortController();
  const copied = copy(child.stderr, file, released.signal);
  const end = new ProgramEnd(child, signal, clock);
  return {
    pid: child.pid,
    ended: Promise.all([child.status, copied]).then(([{ code }]) => {
      end[Symbol.dispose]();
      return code;
    }),
    release() {
      end[Symbol.dispose]();
      released.abort();
      child.unref();
    },
  };
}

/** Copies until the stream's end or the signal; a failing log must not block the program. */
async function copy(
  stream: ReadableStream<Uint8Array>,
  file: AppendFile,
  signal: AbortSignal,
): Promise<void> {
  using _file = file;
  const decoder = new TextDecoder();
  let isWritable = true;
  const into = new WritableStream<Uint8Array>({
    async write(bytes) {
      if (!isWritable) return;
      isWritable = await file.write(decoder.decode(bytes, { stream: true })).then(() => true, () => false);
    },
  });
  try {
    await stream.pipeTo(into, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
