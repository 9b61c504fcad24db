import { withEscapes } from "./escaped_text.ts";
/** From the most to the least talkative. `error` means that someone must act. */
export type LogLevel = "debug" | "info" | "warn" | "error";
export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A constant event name and flat fields. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same log with fields added to every line. */
  with(fields: LogFields): Log;
  /** Whether a level is written, for lines that are dear to make. */
  writes(level: LogLevel): boolean;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  readonly date: () => Date;
  /** Takes one finished line, with its newline. */
  readonly write: (line: string) => void;
}

/** A log that formats lines and hands them to `write`. */
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

/** A log that says nothing. */
export const silentLog: Log = createLog({
  level: "error",
  format: "text",
  date: () => new Date(0),
  write: () => {},
});

/** The fields of a line as the text format has them: `conn=1 reason="…"`. */
export function formatLogFields(fields: LogFields): string {
  return withEscapes(textOf(fields), harmful).slice(1);
}

/**
 * What JSON leaves as it is, but a terminal obeys: C1 control characters, line ends, marks that turn text around. In both
 * formats such characters are inside quotes, where they may be written by their numbers.
 */
const harmful = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A busy door has many lines in the same millisecond. */
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
