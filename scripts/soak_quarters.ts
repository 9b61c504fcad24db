/** The resources of an instance at one moment of a soak. */
export interface SoakSample {
  /** Seconds after the start. */
  readonly s: number;
  readonly resident_kB: number;
  readonly files: number;
  readonly open: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly sessions: number;
  /** The number of queries to the instance without an answer so far. */
  readonly unanswered?: number;
  /** The number of failures of each target, with the last error. */
  readonly failures?: readonly string[];
}

/** A quarter of a soak: medians of its samples. */
export interface SoakQuarter {
  readonly residentMb: number;
  readonly files: number;
  readonly sessions: number;
  /** Connections served in this quarter. */
  readonly done: number;
}

/** The allowed growth of memory from the second to the last quarter. */
const mostGrowth = 1.05;
/** The allowed share of failed connections. */
const mostFailed = 0.001;
/** The allowed growth of descriptors from the second quarter to the end. */
const moreFiles = 16;

/** Returns the four quarters; the last sample is from the idle time after them. */
export function quarters(samples: readonly SoakSample[]): SoakQuarter[] {
  const loaded = samples.slice(0, -1);
  return [0, 1, 2, 3].map((quarter) => {
    const [from, to] = [quarter, quarter + 1].map((at) => Math.floor(at * loaded.length / 4));
    const own = loaded.slice(from, to);
    const before = loaded[(from ?? 0) - 1]?.done ?? 0;
    return {
      residentMb: Math.round(median(own.map(({ resident_kB }) => resident_kB)) / 100) / 10,
      files: median(own.map(({ files }) => files)),
      sessions: median(own.map(({ sessions }) => sessions)),
      done: (own.at(-1)?.done ?? before) - before,
    };
  });
}

/** Formats one line for each quarter. */
export function soakText(told: readonly SoakQuarter[]): string {
  return told.map(({ residentMb, files, sessions, done }, at) =>
    `quarter ${at + 1}: ${residentMb} MB, ${files} descriptors, ${sessions} sessions, ${done} connections`
  ).join("\n");
}

/**
 * Returns the violated limits; `connections` counts the instance's connections after all clients have closed.
 */
export function judgeSoak(
  samples: readonly SoakSample[],
  told: readonly SoakQuarter[],
  { connections }: { readonly connections: number },
): string[] {
  const [, second, , last] = told;
  const end = samples.at(-1);
  if (!second || !last || !end || samples.length < 9) return ["too few samples"];
  const problems: string[] = [];
  if (last.residentMb > second.residentMb * mostGrowth) {
    const percent = Math.round((last.residentMb / second.residentMb - 1) * 1000) / 10;
    problems.push(`memory grew by ${percent} % from the second to the last quarter`);
  }
  if (end.files > second.files + moreFiles) {
    problems.push(`${end.files} descriptors at the end, ${second.files} in the second quarter`);
  }
  if (last.sessions > second.sessions * 2) {
    problems.push(`${last.sessions} sessions in the last quarter, ${second.sessions} in the second`);
  }
  if (end.failed > end.done * mostFailed) {
    problems.push(`${end.failed} of ${end.done} connections failed: ${(end.failures ?? []).join("; ")}`);
  }
  const { unanswered = 0 } = end;
  if (unanswered > 0) problems.push(`the instance did not answer ${unanswered} queries`);
  if (end.skipped > 0) problems.push(`the load generator skipped ${end.skipped} connections`);
  if (end.open > 0) problems.push(`${end.open} clients never closed`);
  if (connections > 0) problems.push(`the instance still has ${connections} connections`);
  return problems;
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
