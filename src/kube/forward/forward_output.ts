import { type Bytes, type Clock, type Conn, GatheredOutput } from "../../core/mod.ts";
import { sealWebSocketFrame, webSocketFrameRoom, webSocketOpcodes } from "../../wire/mod.ts";

export interface ForwardOutputOptions {
  readonly clock: Clock;
  /** Whether the data is wrapped in WebSocket messages. */
  readonly isWebSocket: boolean;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Collects a session's output into one write, and within that into one message, so that the opening of a
 * stream and its first bytes leave together.
 */
export class ForwardOutput {
  readonly #clock: Clock;
  readonly #output: GatheredOutput;
  #patience: Disposable | undefined;
  #isClosed = false;

  constructor(conn: Conn, { clock, isWebSocket, onFailure }: ForwardOutputOptions) {
    this.#clock = clock;
    this.#output = new GatheredOutput(conn, { onFailure, ...isWebSocket && messages });
  }

  /** Whether the connection has not yet taken all data. */
  get isBusy(): boolean {
    return this.#output.isBusy;
  }

  /** Copies bytes into the next write; with `canWait`, they wait a moment for further data. */
  add(bytes: Uint8Array, { canWait = false } = {}): void {
    if (!canWait) return this.#output.add(bytes);
    this.#output.gather(bytes);
    if (!this.#isClosed) this.#patience ??= this.#clock.after(moment, this.#onPatience);
  }

  /** Adds a separate WebSocket frame: a pong or the close. */
  addControl(frame: Bytes): void {
    this.#output.addSeparate(frame, { most: mostControl });
  }

  /** Undefined while less than one large write is pending; otherwise resolves when that write has started. */
  room(): Promise<void> | undefined {
    return this.#output.room();
  }

  /** Writes all pending data at once; resolves when it is written or lost. Later data is dropped. */
  async finish(): Promise<void> {
    this.#output.writeSoon();
    await this.#output.flush();
    this.close();
  }

  /** Drops pending and later data. */
  close(): void {
    this.#isClosed = true;
    this.#output.close();
    this.#patience?.[Symbol.dispose]();
  }

  /** One timer serves all pending data; often that data has already left with another write. */
  readonly #onPatience = (): void => {
    this.#patience = undefined;
    this.#output.writeSoon();
  };
}

const messages = {
  headRoom: webSocketFrameRoom,
  seal: (bytes: Bytes): Bytes => sealWebSocketFrame(bytes, webSocketOpcodes.binary),
};
/** In ms; a client's first bytes arrive sooner than this after its connection. */
const moment = 1;
/** Pending control frames; beyond that, further pings of a server that does not read get no pong. */
const mostControl = 64;
