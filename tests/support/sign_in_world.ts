import { type HttpAnswer, HttpClient } from "../../src/http/mod.ts";
import type { SignInOptions, SignInParts } from "../../src/signin/mod.ts";
import { MemoryWorld, type MemoryWorldOptions } from "./memory_world.ts";
import { OidcServer } from "./oidc_server.ts";
import { recordingLog } from "./recording_log.ts";

/** A person's machine and a provider, both without a kernel; the browser is a script. */
export class SignInWorld implements AsyncDisposable {
  readonly memory: MemoryWorld;
  readonly world: SignInParts["world"];
  readonly log = recordingLog();
  readonly server: OidcServer;
  /** What was said to the person. */
  said = "";
  /** The addresses that the browser was started with. */
  readonly opened: string[] = [];
  /** What the browser does with an address; by default it signs in. */
  browse: (address: string) => Promise<unknown> = (address) => this.comeBack(address);
  /** What the browser saw at last. */
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

  /** Asks for a page as the browser does. */
  async visit(address: string, method = "GET"): Promise<HttpAnswer> {
    const { signal } = new AbortController();
    return await new HttpClient(this.world).ask({ url: new URL(address), method }, { signal });
  }

  /** Signs in at the provider, and goes where it sends us. */
  async comeBack(address: string): Promise<void> {
    let answer = await this.visit(address);
    for (let hops = 0; hops < 10 && answer.status === 302; hops++) {
      answer = await this.visit(answer.fields.get("location") ?? "");
    }
    this.page = `${answer.status} ${new TextDecoder().decode(answer.body)}`;
  }

  /** Everything that anybody could have read. */
  get told(): string {
    return `${this.said}${JSON.stringify(this.log.lines)}${this.memory.out}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#browsing);
    await this.server[Symbol.asyncDispose]();
  }
}

/** Lets time pass in steps until something has ended, whatever it waits for. */
export async function passTime(
  clock: MemoryWorld["clock"],
  work: Promise<unknown>,
  step = 1000,
): Promise<void> {
  let hasEnded = false;
  const end = () => void (hasEnded = true);
  work.then(end, end);
  for (let turn = 0; !hasEnded && turn < 10_000; turn++) {
    // What is signed and hashed is done beside this thread.
    for (let beside = 0; beside < 10; beside++) await new Promise((resolve) => setTimeout(resolve, 0));
    if (!hasEnded) await clock.advance(step);
  }
}
