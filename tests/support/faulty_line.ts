import { RawClient } from "./raw_client.ts";
import { TargetServer } from "./target_server.ts";

/** A fault in the server's data after a number of bytes. */
export interface LineFault {
  readonly after: number;
  /** `close` ends both directions, `stall` holds all data back, `corrupt` flips one bit and continues. */
  readonly kind: "close" | "stall" | "corrupt";
}

/** A forwarder to a local port that can break at any byte of the server's data. */
export class FaultyLine implements AsyncDisposable {
  /** The current fault; removing it repairs open connections immediately. */
  fault: LineFault | undefined;
  /** The server's bytes on the latest connection. */
  sent = new Uint8Array();
  /** The end positions of its writes, if they arrived separately. */
  marks: number[] = [];
  readonly #to: number;
  readonly #server: TargetServer;

  constructor(to: number) {
    this.#to = to;
    this.#server = new TargetServer((client) => this.#join(client));
  }

  get port(): number {
    return this.#server.port;
  }

  /** The number of connections. */
  get count(): number {
    return this.#server.count;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }

  async #join(client: RawClient): Promise<void> {
    using server = await RawClient.connect(`127.0.0.1:${this.#to}`);
    this.sent = new Uint8Array();
    this.marks = [];
    const ending = Promise.withResolvers<void>();
    const end = () => ending.resolve();
    // The end of one direction ends both: these tests do not need half-closes.
    this.#up(client, server).then(end, end);
    this.#down(server, client).then(end, end);
    await ending.promise;
  }

  async #up(client: RawClient, server: RawClient): Promise<void> {
    for (let bytes = await client.some(); bytes; bytes = await client.some()) await server.send(bytes);
  }

  async #down(server: RawClient, client: RawClient): Promise<void> {
    for (let bytes = await server.some(); bytes; bytes = await server.some()) {
      const { fault } = this;
      const before = this.sent.length;
      this.sent = Uint8Array.of(...this.sent, ...bytes);
      this.marks.push(this.sent.length);
      const at = fault ? fault.after - before : Infinity;
      if (fault?.kind === "corrupt" && at >= 0 && at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ 0x10;
      if (fault === undefined || fault.kind === "corrupt" || at > bytes.length) await client.send(bytes);
      else {
        if (at > 0) await client.send(bytes.subarray(0, at));
        if (fault.kind === "close") return;
        // Wait until the client closes.
        await new Promise(() => {});
      }
    }
  }
}

/**
 * Returns the end positions of the unencrypted ssh messages: the server's identification, and messages before
 * the new keys.
 */
export function plainMessageEnds(sent: Uint8Array): number[] {
  const ends: number[] = [];
  let at = sent.indexOf(10) + 1;
  ends.push(at);
  while (at + 6 <= sent.length) {
    const length = new DataView(sent.buffer, sent.byteOffset).getUint32(at);
    const type = sent[at + 5];
    at += 4 + length;
    ends.push(at);
    // SSH_MSG_NEWKEYS
    if (type === 21) break;
  }
  return ends;
}
