/** A server that sends back what it gets, and ends when its client does. */
export class EchoServer implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #serving = new Set<Promise<void>>();
  readonly #accepting = this.#accept();

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  async #accept(): Promise<void> {
    for await (const conn of this.#listener) {
      const serving = echo(conn).finally(() => this.#serving.delete(serving));
      this.#serving.add(serving);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    await Promise.all(this.#serving);
  }
}

async function echo(conn: Deno.Conn): Promise<void> {
  const into = new Uint8Array(4096);
  try {
    for (let count = await conn.read(into); count !== null; count = await conn.read(into)) {
      await writeAll(conn, into.subarray(0, count));
    }
  } catch (error) {
    // A client that was closed on purpose resets.
    if (!(error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe)) {
      throw error;
    }
  } finally {
    conn.close();
  }
}

/** A connection to a target through a SOCKS5 door, or the reply code that refused it. */
export async function throughSocks5(
  door: string,
  target: { host: string; port: number },
): Promise<Deno.Conn> {
  const [hostname = "", port] = door.split(":");
  const conn = await Deno.connect({ hostname, port: Number(port) });
  try {
    const name = new TextEncoder().encode(target.host);
    await writeAll(
      conn,
      Uint8Array.of(5, 1, 0, 5, 1, 0, 3, name.length, ...name, target.port >> 8, target.port & 255),
    );
    const replies = await readExactly(conn, 12);
    if (replies[3] !== 0) throw new Error(`reply ${replies[3]}`);
    return conn;
  } catch (error) {
    conn.close();
    throw error;
  }
}

/** Sends a text and reads as many bytes of an answer. */
export async function exchange(conn: Deno.Conn, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  await writeAll(conn, bytes);
  return new TextDecoder().decode(await readExactly(conn, bytes.length));
}

async function readExactly(conn: Deno.Conn, count: number): Promise<Uint8Array> {
  const into = new Uint8Array(count);
  let length = 0;
  while (length < count) {
    const more = await conn.read(into.subarray(length));
    if (more === null) {
      throw new Error(`ended after ${length} of ${count} bytes: ${into.subarray(0, length)}`);
    }
    length += more;
  }
  return into;
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}
