/** Connects to an IPv4 address through a SOCKS5 proxy and returns the proxy's reply. */
export async function connectThrough(
  contender: string,
  target: string,
): Promise<{ readonly conn: Deno.TcpConn; readonly reply: number } & Disposable> {
  const [host = "", port = ""] = target.split(":");
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(contender.split(":")[1]) });
  conn.setNoDelay();
  await conn.write(Uint8Array.of(5, 1, 0));
  await readExactly(conn, 2);
  const bytes = host.split(".").map(Number);
  await conn.write(Uint8Array.of(5, 1, 0, 1, ...bytes, Number(port) >> 8, Number(port) & 0xff));
  const [, reply = NaN] = await readExactly(conn, 10);
  return { conn, reply, [Symbol.dispose]: () => conn.close() };
}

/** Returns the milliseconds until the first byte of an origin arrives through a proxy. */
export async function firstByteThrough(contender: string, target: string): Promise<number> {
  const start = performance.now();
  using connected = await connectThrough(contender, target);
  if (connected.reply !== 0) throw new Error(`Cannot measure ${contender}: SOCKS reply ${connected.reply}`);
  await readExactly(connected.conn, 1);
  return performance.now() - start;
}

/** A server that sends one byte to each client. */
export class Greeter implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #serving = this.#serve();

  get address(): string {
    return `127.0.0.1:${this.#listener.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#serving;
  }

  async #serve(): Promise<void> {
    for await (const conn of this.#listener) {
      await conn.write(Uint8Array.of(1));
      conn.close();
    }
  }
}

async function readExactly(conn: Deno.Conn, count: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const read = await conn.read(bytes.subarray(at));
    if (read === null) throw new Error("Cannot measure: the proxy closed the connection");
    at += read;
  }
  return bytes;
}
