import { type Clock, formatAge, unlessAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { PluginCredentials } from "./kube_plugin.ts";

export interface PluginSignInParts {
  readonly clock: Clock;
  /** Runs the plugin of the current user in the kubeconfig. */
  readonly run: (options: { readonly signal: AbortSignal }) => Promise<PluginCredentials>;
  /** Reruns a failed plugin at the next request, for programs without a user at the terminal. */
  readonly isUnattended?: boolean | undefined;
}

/** A token that expires within this time, in ms, counts as expired: the request needs time to arrive. */
const leeway = 5_000;
/** How long a failure applies to later requests, in ms: a web page opens many connections at once. */
const settled = 10_000;

/**
 * A sign-in by a credential plugin, which may open a browser window. The plugin runs once for all waiting
 * requests. After a failure it does not run again until `allow` is called; until then every request fails
 * with the same reason.
 */
export class PluginSignIn implements Disposable {
  readonly #parts: PluginSignInParts;
  readonly #ended = new AbortController();
  #given: PluginCredentials | undefined;
  /** Whether the server has ever accepted these credentials. */
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
    // If a request stops waiting, the run continues for the next request.
    this.#running ??= this.#run().finally(() => this.#running = undefined);
    this.#running.catch(() => {});
    return await unlessAborted(this.#running, signal);
  }

  /** Records that the server accepted the credentials. */
  accept(shown: PluginCredentials): void {
    if (shown === this.#given) this.#isAccepted = true;
  }

  /**
   * Records that the server rejected the credentials. If it accepted them before, they expired early and the
   * plugin may run once more. If it never did, the sign-in failed: another run would return the same.
   */
  refuse(shown: PluginCredentials, error: PosternError): void {
    if (shown !== this.#given) return;
    this.#given = undefined;
    if (this.#isAccepted) return;
    this.#fail(error);
    throw error;
  }

  /** Allows another sign-in 10 s after a failed one, with `atOnce` immediately. */
  allow({ atOnce = false }: { readonly atOnce?: boolean } = {}): void {
    const { clock } = this.#parts;
    if (atOnce || (this.#failed && clock.now() - this.#failed.at >= settled)) this.#failed = undefined;
  }

  /** Drops the credentials, because the user in the kubeconfig changed. */
  forget(): void {
    this.#given = this.#failed = undefined;
  }

  /** Stops a running plugin. */
  [Symbol.dispose](): void {
    this.#ended.abort(new DOMException("The cluster was closed", "AbortError"));
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
    hint: "connect to this cluster again, or run: postern reload",
  });
}
