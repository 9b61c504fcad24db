import { createSocket, type Socket } from "node:dgram";
import { decodeDnsMessage, encodeDnsMessage } from "../../src/dns/mod.ts";
import { TargetServer } from "./target_server.ts";

/** A connection that left the machine. */
export interface Arrival {
  /** The dialed address and port. */
  readonly to: string;
  /** Its first bytes. */
  readonly said: string;
}

/** The address of every name that the system resolves. */
const everyName = "203.0.113.80";

/**
 * The world outside of an island: every name has an address, and a web server listens on all addresses. It
 * records DNS questions and received bytes, so that tests can detect leaked data.
 */
export class Outside implements AsyncDisposable {
  readonly arrivals: Arrival[] = [];
  /** Whether it also has IPv6, like most machines. */
  readonly hasSixes: boolean;
  /** The names in DNS questions. */
  readonly names = new Set<string>();
  readonly #servers: readonly TargetServer[];
  readonly #resolver: Socket;

  private constructor(ports: readonly number[], resolver: Socket, hasSixes: boolean) {
    this.#resolver = resolver;
    this.hasSixes = hasSixes;
    resolver.on("message", (bytes, from) => this.#answer(bytes, from));
    this.#servers = ports.map((port) =>
      new TargetServer(async (client) => {
        const head = await client.some();
        const said = new TextDecoder().decode(head);
        this.arrivals.push({ to: client.local.replace(/^::ffff:/, ""), said });
        await client.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside");
      }, Deno.listen({ hostname: hasSixes ? "::" : "0.0.0.0", port }))
    );
  }

  static async open(...ports: readonly number[]): Promise<Outside> {
    const resolver = createSocket("udp4");
    await new Promise<void>((resolve) => resolver.bind(53, "0.0.0.0", resolve));
    const hasSixes = Deno.networkInterfaces().some(({ family }) => family === "IPv6");
    return new Outside(ports, resolver, hasSixes);
  }

  /** Returns new arrivals that contain these words. */
  take(words: string): readonly Arrival[] {
    const taken = this.arrivals.filter(({ said }) => said.includes(words));
    for (const arrival of taken) this.arrivals.splice(this.arrivals.indexOf(arrival), 1);
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()));
    await new Promise<void>((resolve) => this.#resolver.close(() => resolve()));
  }

  #answer(bytes: Uint8Array, from: { readonly port: number; readonly address: string }): void {
    const message = decodeDnsMessage(new Uint8Array(bytes))?.value;
    const [question] = message?.questions ?? [];
    if (!message || !question) return;
    const { name, type } = question;
    this.names.add(name.toLowerCase());
    const answers = type === "A" ? [{ name, ttl: 0, type: "A", address: everyName } as const] : [];
    this.#resolver.send(
      encodeDnsMessage({ ...message, isResponse: true, rcode: 0, answers, additionals: [] }),
      from.port,
      from.address,
    );
  }
}
