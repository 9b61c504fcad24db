import { type Clock, formatAge, unlessAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { PluginCredentials } from "./kube_plugin.ts";

export interface PluginSignInParts {
  readonly clock: Clock;
  /** Runs the plugin of the user as the kubeconfig has it now. */
  readonly run: (options: { readonly signal: AbortSignal }) => Promise<PluginCredentials>;
  /** Runs a plugin that failed again at the next request: for programs that no person waits for. */
  readonly isUnattended?: boolean | undefined;
}

/** A token that ends within this many ms has ended: it takes time to get there. */
const leeway = 5_000;
/** How long a failure counts for requests that come after it, in ms: a page asks for many connections at once. */
const settled = 10_000;

/**
 * A sign-in by a credential plugin, which may open a browser window. The plugin runs once for all requests that wait
 * for it. After a failure it does not run again before `allow` is called: every request until then fails with the
 * same reason.
 */
export class PluginSignIn implements Disposable {
  readonly #parts: PluginSignInParts;
  readonly #ended = new AbortController();
  #given: PluginCredentials | undefined;
  /** Whether the server has ever accepted what was given. */
  #isAccepted = false;
  #running: Promise<PluginCredentials> | undefined;
  #failed: { readonly error: PosternError; readonly at: number } | undefined;

  constructor(parts: PluginSignInParts) {
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async credentials({ signal }: { readonly signal: AbortSignal }): Promise<PluginCredentials> {
    const { clock, isUnattended = false } = this.#parts;
    const expires = this.#given?.expires?.getTime();
    if (this.#given && (expires === undefined || expires > clock.date().getTime() + leeway)) {
      return this.#given;
    }
    if (this.#failed && !isUnattended) throw failedBefore(this.#failed.error, clock.now() - this.#failed.at);
    // A request may stop waiting; the one run goes on for the next request.
    this.#running ??= this.#run().finally(() => this.#running = undefined);
    this.#running.catch(() => {});
    return await unlessAborted(this.#running, signal);
  }

  /** The server knows who showed this. */
  accept(shown: PluginCredentials): void {
    if (shown === this.#given) this.#isAccepted = true;
  }

  /**
   * The server refuses what was shown. What it accepted before has ended early, and the plugin may run once more; what
   * it never accepted is a failed sign-in, since another run would give the same.
   */
  refuse(shown: PluginCredentials, error: PosternError): void {
    if (shown !== this.#given) return;
    this.#given = undefined;
    if (this.#isAccepted) return;
    this.#fail(error);
    throw error;
  }

  /** Another sign-in may begin, unless one has just failed; `atOnce` also then. */
  allow({ atOnce = false }: { readonly atOnce?: boolean } = {}): void {
    const { clock } = this.#parts;
    if (atOnce || (this.#failed && clock.now() - this.#failed.at >= settled)) this.#failed = undefined;
  }

  /** The user is another one now. */
  forget(): void {
    this.#given = this.#failed = undefined;
  }

  /** Ends a plugin that runs. */
  [Symbol.dispose](): void {
    this.#ended.abort(new DOMException("The cluster was given up", "AbortError"));
  }

  async #run(): Promise<PluginCredentials> {
    try {
      this.#given = await this.#parts.run(this.#ended);
      this.#isAccepted = false;
      this.#failed = undefined;
      return this.#given;
    } catch (error) {
      if (error instanceof PosternError && error.detail === "sign_in") this.#fail(error);
      throw error;
    }
  }

  #fail(error: PosternError): void {
    this.#failed = { error, at: this.#parts.clock.now() };
  }
}

function failedBefore({ code, message, cause }: PosternError, ms: number): PosternError {
  const when = ms < 1000 ? "just now" : `${formatAge(ms)} ago`;
  return new PosternError(code, `${message} (${when})`, {
    cause,
    detail: "sign_in",
    hint: "connect to a name of this cluster again, or run: postern reload",
  });
}
