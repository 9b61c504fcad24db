import type { Conn } from "../../core/mod.ts";

/**
 * Gathers what a session says in one turn into one write. While a write is on its way, the next one fills; whoever
 * produces much asks for `room` first.
 */
export class SshOutput {
  readonly #conn: Conn;
  readonly #onFailure: (error: unknown) => void;
  #filling = new Uint8Array(smallest);
  #used = 0;
  #spare = new Uint8Array(smallest);
  #writing: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(conn: Conn, onFailure: (error: unknown) => void) {
    this.#conn = conn;
    this.#onFailure = onFailure;
  }

  /** Copies bytes into the next write. */
  add(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const end = this.#used + bytes.length;
    if (end > this.#filling.length) this.#grow(end);
    this.#filling.set(bytes, this.#used);
    this.#used = end;
    this.#writing ??= this.#write();
  }

  /** Undefined while less than a large write waits; else resolves when it is on its way. */
  room(): Promise<void> | undefined {
    if (this.#used < much || this.#isClosed) return undefined;
    return (this.#room ??= Promise.withResolvers<void>()).promise;
  }

  /** Resolves when all that was added is written or lost. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Forgets what waits; nothing is written any more. */
  close(): void {
    this.#isClosed = true;
    this.#used = 0;
    this.#makeRoom();
  }

  async #write(): Promise<void> {
    // Answers to one read come over a few promises: they belong into the same write.
    for (let turn = 0; turn < turns; turn++) await undefined;
    try {
      while (this.#used > 0) {
        const bytes = this.#filling.subarray(0, this.#used);
        const next = this.#spare;
        this.#spare = this.#filling;
        this.#filling = next;
        this.#used = 0;
        this.#makeRoom();
        await this.#conn.write(bytes);
      }
    } catch (error) {
      this.#onFailure(error);
    }
    this.#writing = undefined;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #grow(size: number): void {
    const larger = new Uint8Array(Math.max(size, this.#filling.length * 4));
    larger.set(this.#filling.subarray(0, this.#used));
    this.#filling = larger;
  }
}

const smallest = 4 * 1024;
const much = 256 * 1024;
const turns = 6;
