import { Tasks } from "../../src/core/mod.ts";

/** A network of Services on loopback, so that an agent on this machine reaches them. */
export const loopbackServices = "127.96.0.0/16";

/** Whether the test may listen on these addresses, also on the DNS port. */
export function hasServiceAddresses(): boolean {
  try {
    Deno.listen({ hostname: "127.96.0.10", port: 53 }).close();
    return true;
  } catch (error) {
    const isRefusal = error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.AddrNotAvailable;
    // Another run listens there, so it is possible.
    if (isRefusal || error instanceof Deno.errors.AddrInUse) return !isRefusal;
    throw error;
  }
}

/** Acts like kube-proxy: forwards connections to the address and port of a Service to a local server. */
export class ServiceAddress implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #tasks = new Tasks(undefined, () => {});
  /** The number of connections so far. */
  connections = 0;

  constructor(address: { readonly hostname: string; readonly port: number }, to: number) {
    this.#listener = Deno.listen(address);
    this.#tasks.spawn(async () => {
      for await (const client of this.#listener) {
        this.connections++;
        this.#tasks.spawn((signal) => forward(client, to, signal));
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#tasks[Symbol.asyncDispose]();
  }
}

async function forward(client: Deno.TcpConn, to: number, signal: AbortSignal): Promise<void> {
  const target = await Deno.connect({ hostname: "127.0.0.1", port: to });
  const copy = async (from: Deno.TcpConn, into: Deno.TcpConn) => {
    const buffer = new Uint8Array(16 * 1024);
    for (let count; (count = await from.read(buffer)) !== null;) {
      for (let at = 0; at < count;) at += await into.write(buffer.subarray(at, count));
    }
    await into.closeWrite();
  };
  const drop = () => [client, target].forEach((conn) => conn.close());
  signal.addEventListener("abort", drop, { once: true });
  await Promise.all([copy(client, target), copy(target, client)]).catch(() => {});
  signal.removeEventListener("abort", drop);
  if (!signal.aborted) drop();
}
