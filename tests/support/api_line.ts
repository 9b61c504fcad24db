/** A TCP forwarder to an API server on a separate address; tests can cut and repair it. */
export class ApiLine implements AsyncDisposable {
  readonly port: number;
  readonly #to: number;
  readonly #conns = new Set<Deno.TcpConn>();
  #listener: Deno.TcpListener | undefined;
  #serving: Promise<void>;

  /** Creates a line to an address such as `127.0.0.1:12345`. */
  constructor(to: string) {
    this.#to = Number(to.slice(to.lastIndexOf(":") + 1));
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.port = this.#listener.addr.port;
    this.#serving = this.#serve(this.#listener);
  }

  get server(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Refuses new connections and breaks the current ones. */
  async cut(): Promise<void> {
    this.#listener?.close();
    this.#listener = undefined;
    for (const conn of this.#conns) close(conn);
    await this.#serving;
  }

  mend(): void {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: this.port });
    this.#serving = this.#serve(this.#listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut();
  }

  async #serve(listener: Deno.TcpListener): Promise<void> {
    const joined: Promise<void>[] = [];
    for await (const client of listener) joined.push(this.#join(client));
    await Promise.all(joined);
  }

  async #join(client: Deno.TcpConn): Promise<void> {
    this.#conns.add(client);
    try {
      const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#to });
      this.#conns.add(server);
      // The end of one direction ends both: a cut line has no half-close.
      await Promise.race([move(client, server), move(server, client)]);
      close(server);
      this.#conns.delete(server);
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    } finally {
      close(client);
      this.#conns.delete(client);
    }
  }
}

async function move(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  try {
    for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
      for (let at = 0; at < count;) at += await to.write(buffer.subarray(at, count));
    }
  } catch (error) {
    // The line was cut, or one end has closed.
    const isEnd = error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted ||
      error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe;
    if (!isEnd) throw error;
  }
}

function close(conn: Deno.TcpConn): void {
  try {
    conn.close();
  } catch (error) {
    // Already closed.
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
