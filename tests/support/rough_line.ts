/** The state of a line. */
export type LineState = "open" | "held" | "closed";

/**
 * A forwarder to a local port that tests can cut, hold and slow down during connections. It keeps
 * half-closes, buffers only one read, and changes no byte.
 */
export class RoughLine implements AsyncDisposable {
  readonly port: number;
  readonly #listener: Deno.TcpListener;
  readonly #to: () => number;
  readonly #joints = new Set<Joint>();
  readonly #joining = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  #delay = 0;
  #state: LineState = "open";
  #opened = Promise.withResolvers<void>();

  /** Calls `to` for each connection. */
  constructor(to: () => number) {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.port = this.#listener.addr.port;
    this.#to = to;
    this.#opened.resolve();
    this.#accepting = this.#accept();
  }

  /** The number of current connections. */
  get open(): number {
    return this.#joints.size;
  }

  /** Drops all connections. */
  cut(): void {
    for (const joint of this.#joints) joint.drop();
  }

  /** `held` holds all bytes without dropping them; `closed` drops existing and new connections. */
  set state(state: LineState) {
    this.#state = state;
    if (state === "held") this.#opened = Promise.withResolvers();
    else this.#opened.resolve();
    if (state === "closed") this.cut();
  }

  /** The delay of every piece in each direction, in ms. */
  set delay(ms: number) {
    this.#delay = ms;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.state = "closed";
    await this.#accepting;
    this.cut();
    await Promise.all(this.#joining);
  }

  async #accept(): Promise<void> {
    for await (const near of this.#listener) {
      const joining = this.#join(near).finally(() => this.#joining.delete(joining));
      this.#joining.add(joining);
    }
  }

  async #join(near: Deno.TcpConn): Promise<void> {
    const joint = new Joint(near);
    this.#joints.add(joint);
    try {
      await this.#opened.promise;
      if (this.#state === "closed") return;
      const far = await Deno.connect({ hostname: "127.0.0.1", port: this.#to() });
      if (!joint.reached(far)) return;
      await Promise.all([this.#move(near, far), this.#move(far, near)]);
    } catch {
      // One side has closed or does not listen: end the other.
    } finally {
      joint.drop();
      this.#joints.delete(joint);
    }
  }

  async #move(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    while (true) {
      const count = await from.read(buffer);
      if (this.#delay > 0) await new Promise((resolve) => setTimeout(resolve, this.#delay));
      await this.#opened.promise;
      if (count === null) return await to.closeWrite();
      for (let at = 0; at < count;) at += await to.write(buffer.subarray(at, count));
    }
  }
}

/** Both ends of one connection, dropped together. */
class Joint {
  readonly #ends: Deno.TcpConn[];
  #isDropped = false;

  constructor(near: Deno.TcpConn) {
    near.setNoDelay();
    this.#ends = [near];
  }

  /** Returns false if the near end was dropped meanwhile. */
  reached(far: Deno.TcpConn): boolean {
    far.setNoDelay();
    if (this.#isDropped) far.close();
    else this.#ends.push(far);
    return !this.#isDropped;
  }

  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    for (const end of this.#ends) end.close();
  }
}
