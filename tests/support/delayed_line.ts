/** A forwarder to a local port that delays all bytes in both directions without limiting the rate. */
export class DelayedLine implements AsyncDisposable {
  readonly port: number;
  readonly #listener: Deno.TcpListener;
  readonly #to: number;
  readonly #ms: number;
  readonly #conns = new Set<Deno.TcpConn>();
  readonly #moving = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;

  private constructor(to: number, ms: number) {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.port = this.#listener.addr.port;
    this.#to = to;
    this.#ms = ms;
    this.#accepting = this.#accept();
  }

  /** Starts a forwarder to the port with a delay of `ms`. */
  static start(to: number, { ms }: { readonly ms: number }): DelayedLine {
    return new DelayedLine(to, ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const conn of this.#conns) close(conn);
    await Promise.all(this.#moving);
  }

  async #accept(): Promise<void> {
    for await (const near of this.#listener) {
      const far = await Deno.connect({ hostname: "127.0.0.1", port: this.#to });
      for (const conn of [near, far]) {
        conn.setNoDelay();
        this.#conns.add(conn);
      }
      this.#follow(this.#join(near, far));
    }
  }

  #follow(moving: Promise<void>): void {
    this.#moving.add(moving);
    moving.finally(() => this.#moving.delete(moving));
  }

  async #join(near: Deno.TcpConn, far: Deno.TcpConn): Promise<void> {
    await Promise.all([this.#move(near, far), this.#move(far, near)]);
    for (const conn of [near, far]) {
      this.#conns.delete(conn);
      close(conn);
    }
  }

  /** Reads without backpressure, so that only the delay affects the two sides. */
  async #move(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
    const queue: Delayed[] = [];
    let wake: (() => void) | undefined;
    const put = (bytes: Delayed["bytes"]) => {
      queue.push({ at: performance.now() + this.#ms, bytes });
      wake?.();
    };
    const reading = (async () => {
      while (true) {
        const into = new Uint8Array(chunk);
        const count = await from.read(into).catch(() => null);
        if (count === null) return put(null);
        put(into.subarray(0, count));
      }
    })();
    try {
      while (true) {
        const next = queue.shift();
        if (!next) {
          await new Promise<void>((resolve) => wake = resolve);
          continue;
        }
        const wait = next.at - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        if (next.bytes === null) {
          await to.closeWrite();
          break;
        }
        for (let bytes = next.bytes; bytes.length > 0;) bytes = bytes.subarray(await to.write(bytes));
      }
    } catch {
      // One side has closed: end the other.
      close(from);
      close(to);
    }
    await reading;
  }
}

interface Delayed {
  readonly at: number;
  /** Null at the end. */
  readonly bytes: Uint8Array | null;
}

function close(conn: Deno.TcpConn): void {
  try {
    conn.close();
  } catch {
    // Already closed.
  }
}

const chunk = 128 * 1024;
