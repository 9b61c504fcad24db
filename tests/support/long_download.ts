import { createHash, type Hash } from "node:crypto";
import { patternBytes } from "./pattern_bytes.ts";
import type { RawClient } from "./raw_client.ts";
import { TargetServer } from "./target_server.ts";

/** The data that a client received. */
export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
}

/** A server that sends a number of MiB: half immediately, the rest on command. */
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

  /** Resolves when the server has sent the first half. */
  get half(): Promise<void> {
    return this.#half.promise;
  }

  sendRest(): void {
    this.#rest.resolve();
  }

  /** The complete data. */
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
      // All blocks differ, so that the test detects lost, duplicate or moved blocks.
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
