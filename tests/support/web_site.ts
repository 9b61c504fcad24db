import { patternBytes } from "./pattern_bytes.ts";

/** The answer of `POST /sink` and `GET /seen`. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
  readonly sha256: string;
}

/** The size of `/large`. */
export const largeSize = 20_000_000;

/** A website on loopback that reports received requests, transfers large bodies, and supports WebSocket. */
export class WebSite implements AsyncDisposable {
  /** Every request line, in order. */
  readonly requests: string[] = [];
  /** The clients' addresses, one for each connection. */
  readonly clients = new Set<string>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request, { remoteAddr }) => this.#answer(request, `${remoteAddr.hostname}:${remoteAddr.port}`),
    );
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async #answer(request: Request, client: string): Promise<Response> {
    const { pathname, host } = new URL(request.url);
    this.requests.push(`${request.method} ${host}${pathname}`);
    this.clients.add(client);
    if (pathname === "/large") return new Response(large());
    if (pathname === "/socket") return echoSocket(request);
    if (pathname !== "/seen" && pathname !== "/sink") return new Response(`hidden: ${host}${pathname}\n`);
    const body = new Uint8Array(await request.arrayBuffer());
    const seen: Seen = {
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      bytes: body.length,
      sha256: await sha256(body),
    };
    return Response.json(seen);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function echoSocket(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

let made: Uint8Array<ArrayBuffer> | undefined;

/** Returns the content of `/large`. */
export function large(): Uint8Array<ArrayBuffer> {
  return made ??= patternBytes(largeSize);
}

/** Returns the SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
