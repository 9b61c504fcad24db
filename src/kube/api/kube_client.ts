import { describe, formatTarget, PosternError, type Target, targetOf } from "../../words/mod.ts";
import { pause, Tasks, whenAborted, within } from "../../core/mod.ts";
import type { ResponseHead } from "../../wire/mod.ts";
import { abortable, jsonBody } from "../../http/mod.ts";
import type {
  KubeAnswer,
  KubeApi,
  KubeApiStatus,
  KubeRequest,
  KubeStream,
  KubeStreamRequest,
  KubeUpgrade,
} from "./kube_api.ts";
import type { KubeContext } from "./kube_context.ts";
import { type Answered, KubeExchange, type KubeExchangeParts } from "./kube_exchange.ts";
import { serverLabel } from "./kube_opening.ts";
import { retryDelay } from "./kube_retry.ts";

export interface KubeClientParts extends KubeExchangeParts {
  /** Requests the server's version after the first response. */
  readonly asksVersion?: boolean;
  /** Returns a number from 0 to below 1, for jitter in pauses; default: `Math.random`. */
  readonly random?: () => number;
}

/** Timeout of one exchange, in ms. */
const usualTimeout = 20_000;
const usualLimit = 16 * 1024 * 1024;
/** Maximum number of bytes read of a refusal. */
const refusalLimit = 64 * 1024;

/** The API server of a context, over HTTP/1.1. */
export class KubeClient implements KubeApi {
  readonly name: string;
  readonly #parts: KubeClientParts;
  readonly #exchange: KubeExchange;
  readonly #target: Target;
  readonly #ended = new AbortController();
  readonly #tasks = new Tasks(undefined, () => {});
  #mayAskVersion: boolean;
  #version: string | undefined;

  constructor(context: KubeContext, parts: KubeClientParts) {
    this.name = context.name;
    this.#parts = parts;
    this.#exchange = new KubeExchange(context, parts);
    this.#mayAskVersion = parts.asksVersion === true;
    this.#target = targetOf(context.cluster.server);
  }

  async request(request: KubeRequest, { signal }: { readonly signal: AbortSignal }): Promise<KubeAnswer> {
    return await this.#within(request, signal, async (signal) => {
      for (let attempt = 0;; attempt++) {
        const { answer, delay } = await this.#whole(request, attempt, signal);
        if (delay === undefined) return answer;
        await pause(this.#parts.clock, delay, { signal });
      }
    });
  }

  async json(request: KubeRequest, { signal }: { readonly signal: AbortSignal }): Promise<unknown> {
    const { status, body } = await this.request(request, { signal });
    const text = new TextDecoder().decode(body);
    if (status < 200 || status > 299) throw this.#exchange.refused(request, status, text);
    return jsonBody(text, `Cannot read the answer of ${this.#label}`);
  }

  async stream(
    request: KubeStreamRequest,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<KubeStream> {
    const { method = "GET", silence } = request;
    const answered = await this.#within({}, signal, (signal) => this.#asked(request, signal));
    const { connection, head } = answered;
    const { status, fields } = head;
    if (status < 200 || status > 299) {
      const body = await this.#within(
        {},
        signal,
        (signal) => this.#body(answered, { method, limit: refusalLimit, signal }),
      );
      return { status, fields, text: new TextDecoder().decode(body), [Symbol.asyncDispose]: async () => {} };
    }
    const error = () =>
      new PosternError("timeout", `Cannot read from ${this.#label}: no data for ${silence / 1000} s`);
    let isRead = false;
    const next = connection.pieces(head, method);
    const read = async () => {
      const piece = await this.#joined(
        signal,
        (signal) =>
          within(
            { clock: this.#parts.clock, ms: silence, signal, error },
            (signal) => abortable(connection, signal, next),
          ),
      );
      isRead = piece === undefined;
      return piece;
    };
    const dispose = () => isRead ? this.#exchange.giveBack(answered) : this.#exchange.drop(connection);
    return { status, fields, read, [Symbol.asyncDispose]: dispose };
  }

  async upgrade(request: KubeRequest, { signal }: { readonly signal: AbortSignal }): Promise<KubeUpgrade> {
    const { method = "GET" } = request;
    return await this.#within(request, signal, async (signal) => {
      for (let attempt = 0;; attempt++) {
        const answered = await this.#asked(request, signal);
        const { connection, head } = answered;
        const { status, fields } = head;
        if (status === 101) {
          this.#exchange.letGo(connection);
          return { status, fields, conn: connection.goOn() };
        }
        const body = await this.#body(answered, { method, limit: refusalLimit, signal });
        const delay = status === 429 ? this.#delay(head, attempt) : undefined;
        if (delay === undefined) return { status, fields, text: new TextDecoder().decode(body) };
        await pause(this.#parts.clock, delay, { signal });
      }
    });
  }

  status(): KubeApiStatus {
    const { failure, signingInWith } = this.#exchange;
    const hint = failure instanceof PosternError ? failure.hint : undefined;
    return {
      server: formatTarget(this.#target),
      ...(this.#version !== undefined && { version: this.#version }),
      requests: this.#exchange.requests,
      connections: this.#exchange.connections,
      ...(failure !== undefined && { lastError: describe(failure) }),
      ...(hint !== undefined && { hint }),
      ...(signingInWith !== undefined && { signingInWith }),
    };
  }

  async askVersion({ signal }: { readonly signal: AbortSignal }): Promise<string | undefined> {
    if (this.#version !== undefined) return this.#version;
    try {
      const { status, body } = await this.request({ path: "/version", limit: refusalLimit }, { signal });
      if (status === 200) this.#version = versionIn(new TextDecoder().decode(body));
    } catch (error) {
      signal.throwIfAborted();
      // The version is only displayed, and the exchange has recorded this failure.
      if (!(error instanceof PosternError)) throw error;
    }
    return this.#version;
  }

  allowSignIn(options?: { readonly atOnce?: boolean }): void {
    this.#exchange.allowSignIn(options);
  }

  check(): void {
    this.#exchange.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new DOMException("The cluster was closed", "AbortError"));
    await this.#tasks[Symbol.asyncDispose]();
    await this.#exchange[Symbol.asyncDispose]();
  }

  get #label(): string {
    return serverLabel(this.name);
  }

  /**
   * Makes one attempt to get a whole response; also returns the delay before a retry, if a retry is worth it.
   */
  async #whole(
    request: KubeRequest,
    attempt: number,
    signal: AbortSignal,
  ): Promise<{ answer: KubeAnswer; delay: number | undefined }> {
    const { method = "GET", limit = usualLimit } = request;
    using _place = await this.#exchange.place({ signal });
    const answered = await this.#asked(request, signal);
    const body = await this.#body(answered, { method, limit, signal });
    const { head } = answered;
    const { status, fields } = head;
    const mayRepeat = status === 429 || (method === "GET" && status >= 500);
    return { answer: { status, fields, body }, delay: mayRepeat ? this.#delay(head, attempt) : undefined };
  }

  async #asked(request: KubeRequest, signal: AbortSignal): Promise<Answered> {
    const answered = await this.#exchange.ask(request, { signal });
    if (this.#mayAskVersion && answered.head.status < 300) {
      this.#mayAskVersion = false;
      this.#tasks.spawn(async (signal) => void await this.askVersion({ signal }));
    }
    return answered;
  }

  /** Reads the whole body, then returns or drops the connection. */
  async #body(
    answered: Answered,
    { method, limit, signal }: { method: string; limit: number; signal: AbortSignal },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { connection, head } = answered;
    try {
      const body = await abortable(connection, signal, () => connection.body(head, method, limit));
      await this.#exchange.giveBack(answered);
      return body;
    } catch (error) {
      await this.#exchange.drop(connection);
      throw error;
    }
  }

  #delay({ status, fields }: ResponseHead, attempt: number): number | undefined {
    const { random = Math.random } = this.#parts;
    return retryDelay({ status, retryAfter: fields.get("retry-after"), attempt, random });
  }

  /** Ends the work at its timeout, and when the caller or the client is aborted. */
  async #within<T>(
    { timeout: ms = usualTimeout }: { readonly timeout?: number },
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const error = () => this.#timeout(ms / 1000);
    try {
      return await this.#joined(
        signal,
        (signal) => within({ clock: this.#parts.clock, ms, signal, error }, work),
      );
    } catch (error) {
      if (!signal.aborted) this.#exchange.failure = error;
      throw error;
    }
  }

  #timeout(seconds: number): PosternError {
    const { signingInWith } = this.#exchange;
    if (signingInWith !== undefined) {
      return new PosternError(
        "timeout",
        `Cannot sign in to the cluster "${this.name}": the credential plugin "${signingInWith}" is still running after ${seconds} s`,
        { hint: "finish the sign-in, then connect again" },
      );
    }
    return new PosternError(
      "timeout",
      `Cannot reach ${this.#label} (${formatTarget(this.#target)}): no answer within ${seconds} s`,
      { hint: "check that the API server is reachable through the via of its transport" },
    );
  }

  /** Runs `work` with a signal that also aborts when the client is disposed. */
  async #joined<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const own = new AbortController();
    using _caller = whenAborted(signal, () => own.abort(signal.reason));
    using _end = whenAborted(this.#ended.signal, () => own.abort(this.#ended.signal.reason));
    return await work(own.signal);
  }
}

function versionIn(text: string): string | undefined {
  return /"gitVersion":\s*"(v[\x21\x23-\x7e]{1,60})"/.exec(text)?.[1];
}
