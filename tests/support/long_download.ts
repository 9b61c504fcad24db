import { createHash, type Hash } from "node:crypto";
import { patternBytes } from "./pattern_bytes.ts";
import type { RawClient } from "./raw_client.ts";
import { TargetServer } from "./target_server.ts";

/** What a client has got. */
export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
}

/** A server that sends so many MiB to its client: half of them at once, and the rest when it is told to. */
export class LongDownload implements AsyncDisposable {
  readonly server: TargetServer;
  readonly #whole = createHash("sha256");
  readonly #half = Promise.withResolvers<void>();
  readonly #rest = Promise.withResolvers<void>();
  readonly #count: number;

  constructor(mebibytes: number) {
    this.#count = mebibytes;
    this.server = new TargetServer((client) => this.#serve(client));
  }

  /** Resolves when the first half is on its way. */
  get half(): Promise<void> {
    return this.#half.promise;
  }

  sendRest(): void {
    this.#rest.resolve();
  }

  /** What a client must have got in the end. */
  get sent(): Downloaded {
    return { bytes: this.#count << 20, sha256: this.#whole.copy().digest("hex") };
  }

  async #serve(client: RawClient): Promise<void> {
    const block = patternBytes(1 << 20);
    const numbered = new DataView(block.buffer);
    for (let number = 0; number < this.#count; number++) {
      if (number === this.#count >> 1) {
        this.#half.resolve();
        await this.#rest.promise;
      }
      // No block is like another, so that none can be lost, doubled or moved.
      numbered.setUint32(0, number);
      this.#whole.update(block);
      await client.send(block);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rest.resolve();
    await this.server[Symbol.asyncDispose]();
  }
}

/** Reads to the end. */
export async function downloaded(client: RawClient): Promise<Downloaded> {
  const hash: Hash = createHash("sha256");
  let bytes = 0;
  for (let part = await client.some(); part; part = await client.some()) {
    bytes += part.length;
    hash.update(part);
  }
  return { bytes, sha256: hash.digest("hex") };
}
