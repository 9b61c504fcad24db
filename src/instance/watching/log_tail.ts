import {
  type Clock,
  formatLogFields,
  type Log,
  type LogFields,
  type LogLevel,
  Ring,
} from "../../core/mod.ts";
import type { LoggedLine } from "../../control/mod.ts";

/** How many lines are remembered. */
const mostLines = 300;
/** How much is told of one line. */
const longest = 4000;

interface Kept {
  readonly number: number;
  readonly at: number;
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

/** The last lines of a log, as they were logged; they become text when somebody wants to see them. */
export class LogTail {
  /** What is logged here goes on to the log behind it. */
  readonly log: Log;
  readonly #clock: Clock;
  readonly #lines = new Ring<Kept>(mostLines);

  constructor(behind: Log, clock: Clock) {
    this.#clock = clock;
    this.log = this.#over(behind, {});
  }

  /** How many lines there were so far. */
  get count(): number {
    return this.#lines.count;
  }

  /** The last lines, oldest first; of them those after the first `count` of all. */
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
