import {
  type Clock,
  formatLogFields,
  type Log,
  type LogFields,
  type LogLevel,
  Ring,
} from "../../core/mod.ts";
import type { LoggedLine } from "../../control/mod.ts";

/** The number of lines to keep. */
const mostLines = 300;
/** The maximum length of a line, in characters. */
const longest = 4000;

interface Kept {
  readonly number: number;
  readonly at: number;
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

/** The last lines of a log, formatted only when a reader asks for them. */
export class LogTail {
  /** Writes to the next log and keeps the line. */
  readonly log: Log;
  readonly #clock: Clock;
  readonly #lines = new Ring<Kept>(mostLines);

  constructor(behind: Log, clock: Clock) {
    this.#clock = clock;
    this.log = this.#over(behind, {});
  }

  /** The number of lines so far. */
  get count(): number {
    return this.#lines.count;
  }

  /** The last lines, oldest first, without the first `count` of all lines. */
  lines(count = 0): LoggedLine[] {
    return this.#lines.since(count).map(({ number, at, level, event, fields }) => {
      const text = formatLogFields(fields);
      return {
        number,
        time: new Date(at).toISOString(),
        level,
        event,
        fields: text.length > longest ? `${text.slice(0, longest)}…` : text,
      };
    });
  }

  #over(behind: Log, context: LogFields): Log {
    const hasContext = Object.keys(context).length > 0;
    const at = (level: LogLevel) => (event: string, fields: LogFields = {}) => {
      behind[level](event, fields);
      if (!behind.writes(level)) return;
      this.#lines.push({
        number: this.#lines.count + 1,
        at: this.#clock.date().getTime(),
        level,
        event,
        fields: hasContext ? { ...context, ...fields } : fields,
      });
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => this.#over(behind.with(fields), { ...context, ...fields }),
      writes: (level) => behind.writes(level),
    };
  }
}
