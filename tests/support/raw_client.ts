/** A TCP client that sends raw bytes. */
export class RawClient implements Disposable {
  readonly #conn: Deno.TcpConn | Deno.TlsConn;
  #isClosed = false;

  constructor(conn: Deno.TcpConn | Deno.TlsConn) {
    this.#conn = conn;
  }

  /** Connects to an address such as `127.0.0.1:12345`. */
  static async connect(address: string): Promise<RawClient> {
    const colon = address.lastIndexOf(":");
    const hostname = address.slice(0, colon);
    return new RawClient(await Deno.connect({ hostname, port: Number(address.slice(colon + 1)) }));
  }

  /** The local `host:port`, as the peer sees it. */
  get local(): string {
    const { hostname, port } = this.#conn.localAddr;
    return `${hostname}:${port}`;
  }

  /** Sends bytes, or text with one byte per character. */
  async send(content: string | Uint8Array): Promise<void> {
    const bytes = typeof content === "string" ? latin1(content) : content;
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }

  /** Half-closes the connection. */
  end(): Promise<void> {
    return this.#conn.closeWrite();
  }

  /** Reads the next bytes; undefined at the end. */
  async some(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const into = new Uint8Array(64 * 1024);
    const count = await this.#conn.read(into);
    return count === null ? undefined : into.subarray(0, count);
  }

  /** Reads exactly `count` bytes. */
  async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const into = new Uint8Array(count);
    for (let length = 0; length < count;) {
      const more = await this.#conn.read(into.subarray(length));
      if (more === null) {
        throw new Error(`ended after ${length} of ${count} bytes: ${into.subarray(0, length)}`);
      }
      length += more;
    }
    return into;
  }

  /** Reads text up to a mark, byte by byte, so that it consumes no byte after the mark. */
  async takeUntil(mark: string): Promise<string> {
    let text = "";
    while (!text.endsWith(mark)) text += String.fromCharCode(...await this.take(1));
    return text;
  }

  /** Reads to the end; a reset counts as an end. */
  async rest(): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    try {
      for (let bytes = await this.some(); bytes; bytes = await this.some()) parts.push(bytes);
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  async restText(): Promise<string> {
    return new TextDecoder().decode(await this.rest());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#conn.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export interface SocksTarget {
  readonly host: string;
  readonly port: number;
}

/** Returns a SOCKS5 greeting without a password, followed by a request with a name (RFC 1928). */
export function socks5Asking({ host, port }: SocksTarget): Uint8Array<ArrayBuffer> {
  return new Uint8Array([5, 1, 0, ...socks5Request({ host, port })]);
}

/** Returns only the request. */
export function socks5Request({ host, port }: SocksTarget, command = 1): Uint8Array<ArrayBuffer> {
  const name = latin1(host);
  return new Uint8Array([5, command, 0, 3, name.length, ...name, port >> 8, port & 255]);
}

/** Connects to a target through a SOCKS5 listener; throws an error with the reply code on a refusal. */
export async function throughSocks5(listener: string, target: SocksTarget): Promise<RawClient> {
  const client = await RawClient.connect(listener);
  await client.send(socks5Asking(target));
  const [, , , code] = await client.take(12);
  if (code === 0) return client;
  client.close();
  throw new Error(`SOCKS5 reply ${code}`);
}

/** Encodes text with one byte per character. */
export function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
