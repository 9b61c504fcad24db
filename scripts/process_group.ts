/** The result of `runAsGroup`. */
export interface GroupEnd {
  readonly code: number;
  /** Why `runAsGroup` killed the group. */
  readonly stopped?: "late" | "interrupted";
}

export interface GroupOptions {
  /** The time limit in seconds. */
  readonly limit: number;
  /** Reads the output; `runAsGroup` waits for it. */
  readonly passOn: (output: ReadableStream<Uint8Array<ArrayBuffer>>) => Promise<void>;
}

const signals: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Runs a program in its own process group; kills the whole group at the time limit or when this process gets
 * a signal.
 */
export async function runAsGroup(
  program: string,
  options: Deno.CommandOptions,
  { limit, passOn }: GroupOptions,
): Promise<GroupEnd> {
  const child = new Deno.Command(program, {
    ...options,
    stdin: "null",
    stdout: "piped",
    // A separate process group, which the terminal does not interrupt.
    detached: Deno.build.os !== "windows",
  }).spawn();
  let stopped: GroupEnd["stopped"];
  const stop = (why: GroupEnd["stopped"]) => {
    stopped ??= why;
    killGroup(child);
  };
  const timer = setTimeout(() => stop("late"), limit * 1000);
  const interrupt = () => stop("interrupted");
  for (const signal of signals) Deno.addSignalListener(signal, interrupt);
  try {
    const [, { code }] = await Promise.all([passOn(child.stdout), child.status]);
    return { code, ...(stopped && { stopped }) };
  } finally {
    clearTimeout(timer);
    for (const signal of signals) Deno.removeSignalListener(signal, interrupt);
  }
}

function killGroup(child: Deno.ChildProcess): void {
  try {
    if (Deno.build.os === "windows") child.kill("SIGKILL");
    else Deno.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // The group has just ended.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}
