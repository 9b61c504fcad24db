import { createLog, type Log } from "../../src/core/mod.ts";

export interface LoggedLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Returns a log that records its lines. */
export function recordingLog(): Log & { readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    date: () => new Date(0),
    write: (line) => lines.push(JSON.parse(line)),
  });
  return Object.assign(log, { lines }) as Log & { readonly lines: LoggedLine[] };
}
