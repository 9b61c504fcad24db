import type { RawClient } from "../support/raw_client.ts";

/** A server that echoes its input and closes when its client does. */
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
    // A test that closes its client causes a reset.
    if (!(error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe)) {
      throw error;
    }
  } finally {
    conn.close();
  }
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}

/** Sends a text to an echo server and returns the answer. */
export async function exchange(client: RawClient, text: string): Promise<string> {
  await client.send(text);
  return new TextDecoder().decode(await client.take(text.length));
}
