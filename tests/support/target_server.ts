import { RawClient } from "./raw_client.ts";

/** A TCP server on loopback that runs the test's function for each client and then closes it. */
export class TargetServer implements AsyncDisposable {
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #serve: (client: RawClient) => Promise<void>;
  readonly #clients = new Set<RawClient>();
  readonly #serving = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  #isDraining = false;
  /** The number of clients. */
  count = 0;

  constructor(
    serve: (client: RawClient) => Promise<void>,
    listener: Deno.TcpListener | Deno.TlsListener = Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  ) {
    this.#serve = serve;
    this.#listener = listener;
    this.#accepting = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.#clients.size;
  }

  async #accept(): Promise<void> {
    for await (const conn of this.#listener) {
      this.count++;
      const client = new RawClient(conn);
      this.#clients.add(client);
      const serving = this.#run(client).finally(() => this.#serving.delete(serving));
      this.#serving.add(serving);
    }
  }

  async #run(client: RawClient): Promise<void> {
    try {
      await this.#serve(client);
    } catch (error) {
      // Some tests close clients deliberately.
      if (!isGone(error)) throw error;
    } finally {
      this.#clients.delete(client);
      client.close();
    }
  }

  /** Refuses new clients; connected ones continue. */
  async drain(): Promise<void> {
    if (!this.#isDraining) this.#listener.close();
    this.#isDraining = true;
    await this.#accepting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
    for (const client of this.#clients) client.close();
    await Promise.all(this.#serving);
  }
}

/** Starts a server that returns all bytes and closes when its client does. */
export function echoServer(): TargetServer {
  return new TargetServer(async (client) => {
    for (let bytes = await client.some(); bytes; bytes = await client.some()) await client.send(bytes);
  });
}

/** Starts a TLS port in front of a server without TLS. */
export function tlsFront(
  address: string,
  tls: { readonly cert: string; readonly key: string },
): TargetServer {
  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls });
  return new TargetServer(async (client) => {
    using behind = await RawClient.connect(address);
    await copyBetween(client, behind);
  }, listener);
}

/** Joins two connections until both directions have ended. */
export async function copyBetween(one: RawClient, other: RawClient): Promise<void> {
  await Promise.all([copy(one, other), copy(other, one)]);
}

async function copy(from: RawClient, to: RawClient): Promise<void> {
  try {
    for (let bytes = await from.some(); bytes; bytes = await from.some()) await to.send(bytes);
    await to.end();
  } catch (error) {
    if (!isGone(error)) throw error;
    from.close();
    to.close();
  }
}

function isGone(error: unknown): boolean {
  return [
    Deno.errors.BadResource,
    Deno.errors.BrokenPipe,
    Deno.errors.ConnectionReset,
    Deno.errors.Interrupted,
    Deno.errors.NotConnected,
    Deno.errors.UnexpectedEof,
  ].some((kind) => error instanceof kind);
}
