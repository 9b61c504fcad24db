import assert from "node:assert/strict";

/** A target that never answers a dial: it does not accept clients, and its backlog is full. */
export class FullTarget implements AsyncDisposable {
  readonly port: number;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #waiting: Deno.Conn[] = [];
  #last: Promise<void> | undefined;

  private constructor() {
    this.port = (this.#listener.addr as Deno.NetAddr).port;
  }

  static async create(): Promise<FullTarget> {
    const target = new FullTarget();
    while (await target.#takesOneMore());
    return target;
  }

  async #takesOneMore(): Promise<boolean> {
    assert.ok(this.#waiting.length < 10_000, "Cannot fill the backlog");
    const connecting = Deno.connect({ hostname: "127.0.0.1", port: this.port }).then(
      (conn) => void this.#waiting.push(conn),
    );
    this.#last = connecting;
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, 2000, false);
    try {
      return await Promise.race([connecting.then(() => true), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    // The kernel now refuses the pending client.
    await this.#last?.catch(() => {});
    for (const conn of this.#waiting) conn.close();
  }
}
