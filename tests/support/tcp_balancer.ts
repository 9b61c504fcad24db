/** A backend of a balancer. */
export interface Backend {
  readonly port: number;
  /** Whether it accepts new connections, as a readiness probe reports. */
  readonly isReady: () => boolean;
}

/** A round-robin TCP balancer on loopback that tries the next backend if one refuses. */
export class TcpBalancer implements AsyncDisposable {
  readonly port: number;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #backends: readonly Backend[];
  readonly #conns = new Set<Deno.Conn>();
  readonly #joints = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  #turn = 0;
  /** The backend ports of connections, in order. */
  readonly given: number[] = [];

  constructor(backends: readonly Backend[]) {
    this.#backends = backends;
    this.port = (this.#listener.addr as Deno.NetAddr).port;
    this.#accepting = this.#accept();
  }

  async #accept(): Promise<void> {
    for (let client; (client = await this.#listener.accept().catch(() => undefined));) {
      const joint: Promise<void> = this.#join(client).finally(() => this.#joints.delete(joint));
      this.#joints.add(joint);
    }
  }

  async #join(client: Deno.Conn): Promise<void> {
    this.#conns.add(client);
    const server = await this.#connect();
    if (server) {
      this.#conns.add(server);
      // The end of one direction ends both: the balanced protocols have no half-closes.
      await Promise.race([move(client, server), move(server, client)]);
      this.#close(server);
    }
    this.#close(client);
  }

  async #connect(): Promise<Deno.Conn | undefined> {
    const first = this.#turn++;
    for (let at = 0; at < this.#backends.length; at++) {
      const backend = this.#backends[(first + at) % this.#backends.length];
      if (!backend?.isReady()) continue;
      const conn = await Deno.connect({ hostname: "127.0.0.1", port: backend.port }).catch(() => undefined);
      if (!conn) continue;
      this.given.push(backend.port);
      return conn;
    }
    return undefined;
  }

  #close(conn: Deno.Conn): void {
    if (this.#conns.delete(conn)) conn.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const conn of this.#conns) this.#close(conn);
    await Promise.all(this.#joints);
  }
}

async function move(from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(32 * 1024);
  try {
    for (let count; (count = await from.read(buffer)) !== null;) {
      for (let at = 0; at < count;) at += await to.write(buffer.subarray(at, count));
    }
  } catch {
    // The peer or the balancer has closed it.
  }
}
