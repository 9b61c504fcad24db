export interface LineWriterOptions {
  /** Writes a batch of complete lines; a failure loses the batch and is counted. */
  readonly sink: (text: string) => Promise<void>;
  /** Waits before each write, to gather lines (default: until the end of the turn). */
  readonly gather?: () => Promise<void>;
  /** The maximum number of waiting characters. */
  readonly limit?: number;
  /** Formats the line that reports lost lines. */
  readonly lost?: (count: number) => string;
}

/**
 * Collects the lines of a turn into one write. Never fails or blocks the caller; lines that do not fit are
 * counted.
 */
export class LineWriter {
  readonly #sink: (text: string) => Promise<void>;
  readonly #gather: () => Promise<void>;
  readonly #limit: number;
  readonly #lostLine: (count: number) => string;
  #waiting: string[] = [];
  #size = 0;
  #lost = 0;
  #writing: Promise<void> | undefined;

  constructor(
    {
      sink,
      gather = () => Promise.resolve(),
      limit = 1024 * 1024,
      lost = (count) => `(${count} lines lost)\n`,
    }: LineWriterOptions,
  ) {
    this.#sink = sink;
    this.#gather = gather;
    this.#limit = limit;
    this.#lostLine = lost;
  }

  /** The number of lost lines that were not reported yet. */
  get lost(): number {
    return this.#lost;
  }

  /** Adds one line, including its newline. */
  readonly write = (line: string): void => {
    if (this.#size + line.length > this.#limit) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#size += line.length;
    this.#writing ??= this.#run();
  };

  /** Resolves when all lines added before are written or lost. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const lines = this.#waiting;
      const told = this.#lost;
      this.#waiting = [];
      try {
        await this.#sink(lines.join("") + (told > 0 ? this.#lostLine(told) : ""));
        this.#lost -= told;
      } catch {
        // The next successful write reports the loss.
        this.#lost += lines.length;
      }
      this.#size = this.#waiting.reduce((sum, line) => sum + line.length, 0);
    }
    this.#writing = undefined;
  }
}
