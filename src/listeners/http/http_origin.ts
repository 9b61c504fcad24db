import { type Dialed, Messages } from "../../core/mod.ts";

/** A connection to the origin server, reused for the client's next request. */
export class Origin {
  /** The target and the user of the connection. */
  readonly key: string;
  /** The generation of the plan that dialed it: another plan may have another route. */
  readonly generation: number | undefined;
  readonly dialed: Dialed;
  readonly messages: Messages;
  /** Whether it has served a request before and may therefore be stale. */
  isReused = false;
  #isOver = false;
  #isResting = false;

  constructor(key: string, dialed: Dialed, generation: number | undefined) {
    this.key = key;
    this.dialed = dialed;
    this.generation = generation;
    this.messages = new Messages(dialed.conn, { initial: 2048 });
  }

  /** Whether it can take a request; false after the server closed it or sent unrequested bytes. */
  get isUsable(): boolean {
    return !this.#isOver;
  }

  /** Keeps the connection idle until the next request or until the server closes it. */
  rest(): void {
    this.isReused = true;
    if (this.messages.pending.length > 0 || this.messages.isEnded) return this.finish("done");
    this.#isResting = true;
    const spoke = (error?: unknown) => {
      if (this.#isResting) this.finish("done", error);
    };
    // A pending read notices when the server closes; the same read receives the next answer.
    void this.messages.fill().then(() => spoke(), spoke);
  }

  /** Ends the idle state: the next bytes are an answer. */
  wake(): void {
    this.#isResting = false;
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.dialed.conn.write(bytes);
    this.dialed.tally.up += bytes.length;
  }

  /** Ends the record and closes the connection, once. */
  finish(outcome: string, error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.dialed.finish(outcome, error);
  }
}
