import type { Clock, Conn } from "../../core/mod.ts";
import { webSocket } from "../../wire/mod.ts";

export interface ForwardOutputOptions {
  readonly clock: Clock;
  /** Whether what is said goes into messages of a WebSocket. */
  readonly isWebSocket: boolean;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Gathers what a session says in one turn into one write, and there into one message: so the opening of a stream and
 * the first bytes on it are one. While a write is on its way, the next one fills; whoever says much asks for `room`
 * first.
 */
export class ForwardOutput {
  readonly #conn: Conn;
  readonly #options: ForwardOutputOptions;
  /** Where the payload begins, so that the head of the message can be written before it. */
  readonly #begin: number;
  #filling: Uint8Array<ArrayBuffer>;
  #spare: Uint8Array<ArrayBuffer>;
  #used: number;
  /** Frames that stand beside the messages: pongs and the close. */
  #control: Uint8Array<ArrayBuffer>[] = [];
  #writing: Promise<void> | undefined;
  #patience: Disposable | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(conn: Conn, options: ForwardOutputOptions) {
    this.#conn = conn;
    this.#options = options;
    this.#begin = options.isWebSocket ? webSocket.frameRoom : 0;
    this.#used = this.#begin;
    this.#filling = new Uint8Array(smallest);
    this.#spare = new Uint8Array(smallest);
  }

  /** Whether something was said that the connection has not taken yet. */
  get isBusy(): boolean {
    return this.#writing !== undefined || this.#used > this.#begin;
  }

  /** Copies bytes into the next write; what can wait for a moment goes along with what comes next. */
  add(bytes: Uint8Array, { canWait = false } = {}): void {
    if (this.#isClosed) return;
    const end = this.#used + bytes.length;
    if (end > this.#filling.length) this.#grow(end);
    this.#filling.set(bytes, this.#used);
    this.#used = end;
    if (!canWait) this.#writing ??= this.#write();
    else this.#patience ??= this.#options.clock.after(moment, this.#onPatience);
  }

  /** A frame of the WebSocket of its own. */
  addControl(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#isClosed || this.#control.length >= mostControl) return;
    this.#control.push(frame);
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
    this.#used = this.#begin;
    this.#control = [];
    this.#patience?.[Symbol.dispose]();
    this.#makeRoom();
  }

  /** It rings once for all that wait: often for something that has long gone along. */
  readonly #onPatience = (): void => {
    this.#patience = undefined;
    if (this.#used > this.#begin) this.#writing ??= this.#write();
  };

  async #write(): Promise<void> {
    // What follows one read comes over a few promises, and belongs into the same write.
    for (let turn = 0; turn < turns; turn++) await undefined;
    try {
      while (true) {
        const next = this.#next();
        if (!next) break;
        await this.#conn.write(next);
      }
    } catch (error) {
      this.#options.onFailure(error);
    }
    this.#writing = undefined;
  }

  #next(): Uint8Array<ArrayBuffer> | undefined {
    const control = this.#control.shift();
    if (control) return control;
    if (this.#used === this.#begin) return undefined;
    const bytes = this.#filling.subarray(0, this.#used);
    const next = this.#spare;
    this.#spare = this.#filling;
    this.#filling = next;
    this.#used = this.#begin;
    this.#makeRoom();
    return this.#options.isWebSocket ? webSocket.sealFrame(bytes, webSocket.opcodes.binary) : bytes;
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
/** In ms: a client's first bytes come sooner after its connection. */
const moment = 1;
/** Who asks more often than it takes answers gets none of them. */
const mostControl = 64;
