import { type Dialed, Messages } from "../../core/mod.ts";

/** A connection to the server that a client's requests are for; it is kept from one request to the next. */
export class Origin {
  /** The target and the user it was dialled for. */
  readonly key: string;
  /** The generation of the plan it was dialled by: another plan may lead elsewhere or nowhere. */
  readonly generation: number | undefined;
  readonly dialed: Dialed;
  readonly messages: Messages;
  /** Whether it has served a request before: then it may be stale. */
  isReused = false;
  #isOver = false;
  #isResting = false;

  constructor(key: string, dialed: Dialed, generation: number | undefined) {
    this.key = key;
    this.dialed = dialed;
    this.generation = generation;
    this.messages = new Messages(dialed.conn, { initial: 2048 });
  }

  /** Whether it may be asked; one that has closed or spoken unasked may not. */
  get isUsable(): boolean {
    return !this.#isOver;
  }

  /** Waits for the next request, or for the server to close. */
  rest(): void {
    this.isReused = true;
    if (this.messages.pending.length > 0 || this.messages.isEnded) return this.finish("done");
    this.#isResting = true;
    const spoke = (error?: unknown) => {
      if (this.#isResting) this.finish("done", error);
    };
    // A read runs while nothing is asked, to notice when the server closes; the next answer is read by the same one.
    void this.messages.fill().then(() => spoke(), spoke);
  }

  /** Ends the rest: what comes from now on is an answer. */
  wake(): void {
    this.#isResting = false;
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.dialed.conn.write(bytes);
    this.dialed.tally.up += bytes.length;
  }

  /** Ends the record and drops the connection, once. */
  finish(outcome: string, error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.dialed.finish(outcome, error);
  }
}
