import { withEscapes } from "./escaped_text.ts";
/** From verbose to quiet. `error` means that a person must act. */
export type LogLevel = "debug" | "info" | "warn" | "error";
export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A constant event name and flat fields. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Returns a log that adds fields to every line. */
  with(fields: LogFields): Log;
  /** Whether a level is enabled; for lines that are expensive to build. */
  writes(level: LogLevel): boolean;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  readonly date: () => Date;
  /** Receives one complete line, including its newline. */
  readonly write: (line: string) => void;
}

/** Creates a log that formats lines and passes them to `write`. */
export function createLog(options: LogOptions, context: LogFields = {}): Log {
  const least = logLevels.indexOf(options.level);
  const format = options.format === "json" ? jsonLine : textLine;
  const hasContext = Object.keys(context).length > 0;
  const time = isoTimes();
  const at = (level: LogLevel) => {
    if (logLevels.indexOf(level) < least) return () => {};
    return (event: string, fields?: LogFields) => {
      const all = hasContext ? { ...context, ...fields } : fields ?? context;
      options.write(withEscapes(format(time(options.date()), level, event, all), harmful));
    };
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => createLog(options, { ...context, ...fields }),
    writes: (level) => logLevels.indexOf(level) >= least,
  };
}

export const silentLog: Log = createLog({
  level: "error",
  format: "text",
  date: () => new Date(0),
  write: () => {},
});

/** Formats the fields of a line in the text format: `conn=1 reason="…"`. */
export function formatLogFields(fields: LogFields): string {
  return withEscapes(textOf(fields), harmful).slice(1);
}

/**
 * Characters that JSON does not escape but a terminal interprets: C1 controls, line separators, bidirectional
 * marks. Both formats quote them, so they can be escaped.
 */
const harmful = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Caches the timestamp: a busy instance logs many lines in the same millisecond. */
function isoTimes(): (date: Date) => string {
  let last = NaN;
  let text = "";
  return (date) => {
    const now = date.getTime();
    if (now !== last) text = date.toISOString();
    last = now;
    return text;
  };
}

function jsonLine(time: string, level: LogLevel, event: string, fields: LogFields): string {
  return `${JSON.stringify({ time, level, event, ...fields })}\n`;
}

function textLine(time: string, level: LogLevel, event: string, fields: LogFields): string {
  return `${time} ${level.toUpperCase().padEnd(5)} ${event}${textOf(fields)}\n`;
}

function textOf(fields: LogFields): string {
  let text = "";
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) text += ` ${key}=${typeof value === "string" ? quoted(value) : value}`;
  }
  return text;
}

function quoted(text: string): string {
  return /^[\w.:/@%+,*\-[\]]+$/.test(text) ? text : JSON.stringify(text);
}
