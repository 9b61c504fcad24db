export interface LineWriterOptions {
  /** Writes a batch of whole lines; a failure loses the batch and is counted. */
  readonly sink: (text: string) => Promise<void>;
  /** How long to gather lines before each write; until the end of the turn unless told. */
  readonly gather?: () => Promise<void>;
  /** The most characters that may wait. */
  readonly limit?: number;
  /** The line that tells how many were lost, in the format of the others. */
  readonly lost?: (count: number) => string;
}

/** Collects the lines of a turn into one write. It never fails and never holds up the caller: what does not fit is counted. */
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

  /** How many lines were lost and are not yet told. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes one line with its newline. */
  readonly write = (line: string): void => {
    if (this.#size + line.length > this.#limit) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#size += line.length;
    this.#writing ??= this.#run();
  };

  /** Resolves when all that was taken before is written or lost. */
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
        // Nobody is left to tell but the next line that finds its way.
        this.#lost += lines.length;
      }
      this.#size = this.#waiting.reduce((sum, line) => sum + line.length, 0);
    }
    this.#writing = undefined;
  }
}
