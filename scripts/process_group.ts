/** How a program ended that was run with `runAsGroup`. */
export interface GroupEnd {
  readonly code: number;
  /** Why it was ended before its time. */
  readonly stopped?: "late" | "interrupted";
}

export interface GroupOptions {
  /** How long it may take, in seconds. */
  readonly limit: number;
  /** Takes what it says; the group has not ended before that has. */
  readonly passOn: (output: ReadableStream<Uint8Array<ArrayBuffer>>) => Promise<void>;
}

const signals: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

/** Runs a program as a group with all that it starts: when it takes too long, or we are told to end, all of them end. */
export async function runAsGroup(
  program: string,
  options: Deno.CommandOptions,
  { limit, passOn }: GroupOptions,
): Promise<GroupEnd> {
  const child = new Deno.Command(program, {
    ...options,
    stdin: "null",
    stdout: "piped",
    // A group of its own; for that reason a terminal does not interrupt it by itself.
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
    // All of them have just ended.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}
