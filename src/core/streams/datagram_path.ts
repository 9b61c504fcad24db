import type { Target } from "../../words/mod.ts";

/** Carries the datagrams of one client to several targets, and their replies. Disposing closes its flows. */
export interface DatagramPath extends AsyncDisposable {
  /**
   * Prepares one target. `received` gets the replies of that target only, with their source as far as known;
   * the path waits for it before it reads the next reply.
   */
  open(target: Target, options: DatagramFlowOptions): Promise<DatagramFlow>;
  /** Resolves with the reason when the path can carry nothing more. */
  readonly ended: Promise<unknown>;
}

export interface DatagramFlowOptions {
  readonly signal: AbortSignal;
  readonly received: (data: Uint8Array<ArrayBuffer>, from: Target) => Promise<void>;
}

/** The datagrams to one target. Disposing forgets the target. */
export interface DatagramFlow extends Disposable {
  /** Sends a datagram; rejects if this machine cannot send it. A lost datagram is not an error. */
  send(data: Uint8Array<ArrayBuffer>): Promise<void>;
}
