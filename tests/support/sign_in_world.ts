import { type HttpAnswer, HttpClient } from "../../src/http/mod.ts";
import type { SignInOptions, SignInParts } from "../../src/signin/mod.ts";
import { MemoryWorld, type MemoryWorldOptions } from "./memory_world.ts";
import { OidcServer } from "./oidc_server.ts";
import { recordingLog } from "./recording_log.ts";

/** A user's machine and a provider in memory, with a scripted browser. */
export class SignInWorld implements AsyncDisposable {
  readonly memory: MemoryWorld;
  readonly world: SignInParts["world"];
  readonly log = recordingLog();
  readonly server: OidcServer;
  /** The messages to the user. */
  said = "";
  /** The addresses opened in the browser. */
  readonly opened: string[] = [];
  /** The browser's reaction to an address (default: sign in). */
  browse: (address: string) => Promise<unknown> = (address) => this.comeBack(address);
  /** The browser's last page. */
  page: string | undefined;
  readonly #browsing: Promise<unknown>[] = [];

  constructor({ env = {}, ...options }: MemoryWorldOptions = {}) {
    this.memory = new MemoryWorld({ ...options, env: { POSTERN_BROWSER: "browser", ...env } });
    this.memory.network.names.set("localhost", ["127.0.0.1"]);
    this.world = {
      clock: this.memory.clock,
      network: this.memory.network,
      files: this.memory.files,
      places: this.memory.places,
      terminal: this.memory.terminal,
      process: {
        ...this.memory.process,
        background: ([, address = ""]) => {
          this.opened.push(address);
          this.#browsing.push(this.browse(address));
          return Promise.resolve({ pid: 1, ended: Promise.resolve(0), release: () => {} });
        },
      },
    };
    this.server = new OidcServer(this.memory.network.listen({ host: "127.0.0.1", port: 0 }), this.world);
  }

  get parts(): SignInParts {
    return { world: this.world, log: this.log, say: (text) => Promise.resolve(void (this.said += text)) };
  }

  get options(): SignInOptions {
    return {
      apiUrl: "https://api.syn.example.com/",
      clientId: "lieutenant",
      discoveryUrl: this.server.discoveryUrl,
    };
  }

  /** Requests a page like the browser. */
  async visit(address: string, method = "GET"): Promise<HttpAnswer> {
    const { signal } = new AbortController();
    return await new HttpClient(this.world).ask({ url: new URL(address), method }, { signal });
  }

  /** Signs in at the provider and follows its redirect. */
  async comeBack(address: string): Promise<void> {
    let answer = await this.visit(address);
    for (let hops = 0; hops < 10 && answer.status === 302; hops++) {
      answer = await this.visit(answer.fields.get("location") ?? "");
    }
    this.page = `${answer.status} ${new TextDecoder().decode(answer.body)}`;
  }

  /** All output that a person could have read. */
  get shown(): string {
    return `${this.said}${JSON.stringify(this.log.lines)}${this.memory.out}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#browsing);
    await this.server[Symbol.asyncDispose]();
  }
}

/** Advances time in steps until a promise settles. */
export async function passTime(
  clock: MemoryWorld["clock"],
  work: Promise<unknown>,
  step = 1000,
): Promise<void> {
  let hasEnded = false;
  const end = () => void (hasEnded = true);
  work.then(end, end);
  for (let turn = 0; !hasEnded && turn < 10_000; turn++) {
    // Another thread signs and hashes.
    for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setTimeout(resolve, 0));
    if (!hasEnded) await clock.advance(step);
  }
}
