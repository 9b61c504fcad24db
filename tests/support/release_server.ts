import { createNetwork } from "../../src/runtime/network/network.ts";
import { encodeResponseHead } from "../../src/wire/mod.ts";
import { type TornAnswer, type WebAnswer, WebServer } from "./web_server.ts";

/** A release on loopback in the form of the workflow: files below `/vVERSION/`. */
export class ReleaseServer implements AsyncDisposable {
  /** The answers by the last part of the path; other paths return 404. */
  readonly files = new Map<string, WebAnswer | TornAnswer | (() => WebAnswer | TornAnswer)>();
  readonly #server: WebServer;

  constructor() {
    this.#server = new WebServer(createNetwork().listen({ host: "127.0.0.1", port: 0 }), ({ url }) => {
      const found = this.files.get(url.pathname.replace(/^.*\//, ""));
      if (found === undefined) return { status: 404, body: "<h1>Not here</h1>\n" };
      return typeof found === "function" ? found() : found;
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/releases`;
  }

  /** The requested paths. */
  get asked(): readonly string[] {
    return this.#server.requests.map(({ url }) => url.pathname);
  }

  /** Publishes a program with its checksum. */
  async publish(name: string, program: Uint8Array<ArrayBuffer>): Promise<void> {
    this.files.set(name, wholeFile(program));
    this.files.set(`${name}.sha256`, { body: `${await sumOf(program)}  ${name}\n` });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

/** Returns an HTTP response with a file; `said` is the declared length. */
export function wholeFile(
  content: Uint8Array<ArrayBuffer>,
  said: number | undefined = content.length,
): Uint8Array<ArrayBuffer> {
  const length: [string, string][] = said === undefined ? [] : [["Content-Length", String(said)]];
  const head = encodeResponseHead({ status: 200, fields: [...length, ["Connection", "close"]] });
  const answer = new Uint8Array(head.length + content.length);
  answer.set(head);
  answer.set(content, head.length);
  return answer;
}

/** Returns a checksum in hexadecimal. */
export async function sumOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
