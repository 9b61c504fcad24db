import {
  type Clock,
  describe,
  type Dialer,
  formatTarget,
  type Network,
  pause,
  PosternError,
  type Target,
  Tasks,
  whenAborted,
  within,
} from "../core/mod.ts";
import type { ResponseHead } from "../wire/mod.ts";
import type {
  KubeAnswer,
  KubeApi,
  KubeApiStatus,
  KubeRequest,
  KubeStream,
  KubeStreamRequest,
  KubeUpgrade,
} from "./kube_api.ts";
import type { KubeConnection } from "./kube_connection.ts";
import type { KubeContext } from "./kube_context.ts";
import { type CredentialParts, KubeCredentials } from "./kube_credentials.ts";
import { openConnection, serverLabel, serverTarget } from "./kube_opening.ts";
import { KubePool } from "./kube_pool.ts";
import { refusalError } from "./kube_refusal.ts";
import { requestBytes } from "./kube_request_bytes.ts";
import { retryDelay } from "./kube_retry.ts";

export interface KubeClientParts extends CredentialParts {
  readonly clock: Clock;
  readonly network: Pick<Network, "secure">;
  /** How its connections are made: straight, through `via`, or through the cluster's proxy. */
  readonly dial: Dialer;
  /** Asks for the server's version by itself, once it has answered anything. */
  readonly asksVersion?: boolean;
  /** From 0 to below 1, for pauses that differ; `Math.random` unless told. */
  readonly random?: () => number;
}

/** For one exchange, in ms. */
const usualTimeout = 20_000;
const usualLimit = 16 * 1024 * 1024;
/** The most bytes of a refusal that are read. */
const refusalLimit = 64 * 1024;

/** The API server of a context, over HTTP/1.1. */
export class KubeClient implements KubeApi {
  readonly name: string;
  readonly #context: KubeContext;
  readonly #parts: KubeClientParts;
  readonly #credentials: KubeCredentials;
  readonly #pool: KubePool;
  /** Connections that are not idle. */
  readonly #busy = new Set<KubeConnection>();
  readonly #target: Target;
  readonly #ended = new AbortController();
  readonly #tasks = new Tasks(undefined, () => {});
  #mayAskVersion: boolean;
  #requests = 0;
  #version: string | undefined;
  #failure: unknown;

  constructor(context: KubeContext, parts: KubeClientParts) {
    this.name = context.name;
    this.#context = context;
    this.#parts = parts;
    this.#credentials = new KubeCredentials(context, parts);
    this.#mayAskVersion = parts.asksVersion === true;
    this.#pool = new KubePool({
      clock: parts.clock,
      open: async (credentials, signal) => {
        const ca = await this.#credentials.ca();
        return await openConnection({ ...parts, context, credentials, ca, signal });
      },
    });
    this.#target = serverTarget(context.cluster.server);
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
    if (status < 200 || status > 299) throw this.#refused(request, status, text);
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new PosternError("protocol", `Cannot read the answer of ${this.#label}: it is no JSON`, {
        cause: error,
      });
    }
  }

  async stream(
    request: KubeStreamRequest,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<KubeStream> {
    const { method = "GET", silence } = request;
    const { connection, head } = await this.#within({}, signal, (signal) => this.#ask(request, signal));
    const { status, fields } = head;
    let isRead = false;
    const dispose = async () => {
      this.#busy.delete(connection);
      if (isRead && connection.canGoOn(head)) this.#pool.giveBack(connection);
      else await connection[Symbol.asyncDispose]();
    };
    const error = () =>
      new PosternError("timeout", `Cannot read on from ${this.#label}: nothing came for ${silence / 1000} s`);
    const reading = <T>(work: () => Promise<T>) =>
      this.#dropping(connection, { ms: silence, signal, error }, work);
    if (status < 200 || status > 299) {
      await using _end = { [Symbol.asyncDispose]: dispose };
      const body = await reading(() => connection.body(head, method, refusalLimit));
      isRead = true;
      return { status, fields, text: new TextDecoder().decode(body), [Symbol.asyncDispose]: async () => {} };
    }
    const next = connection.pieces(head, method);
    const read = async () => {
      const piece = await reading(next);
      isRead = piece === undefined;
      return piece;
    };
    return { status, fields, read, [Symbol.asyncDispose]: dispose };
  }

  async upgrade(request: KubeRequest, { signal }: { readonly signal: AbortSignal }): Promise<KubeUpgrade> {
    const { method = "GET" } = request;
    return await this.#within(request, signal, async (signal) => {
      for (let attempt = 0;; attempt++) {
        const { connection, head } = await this.#ask(request, signal);
        this.#busy.delete(connection);
        const { status, fields } = head;
        if (status === 101) return { status, fields, conn: connection.goOn() };
        await using ending = new AsyncDisposableStack();
        ending.use(connection);
        const body = await aborting(connection, signal, () => connection.body(head, method, refusalLimit));
        const delay = status === 429 ? this.#delay(head, attempt) : undefined;
        if (delay === undefined) return { status, fields, text: new TextDecoder().decode(body) };
        await pause(this.#parts.clock, delay, { signal });
      }
    });
  }

  status(): KubeApiStatus {
    const failure = this.#failure;
    const hint = failure instanceof PosternError ? failure.hint : undefined;
    return {
      server: formatTarget(this.#target),
      ...(this.#version !== undefined && { version: this.#version }),
      requests: this.#requests,
      connections: this.#busy.size + this.#pool.idle,
      ...(failure !== undefined && { lastError: describe(failure) }),
      ...(hint !== undefined && { hint }),
    };
  }

  async askVersion({ signal }: { readonly signal: AbortSignal }): Promise<string | undefined> {
    if (this.#version !== undefined) return this.#version;
    try {
      const { status, body } = await this.request({ path: "/version", limit: refusalLimit }, { signal });
      if (status === 200) this.#version = versionIn(new TextDecoder().decode(body));
    } catch (error) {
      signal.throwIfAborted();
      // It is only shown, and what keeps it from telling has been noted.
      if (!(error instanceof PosternError)) throw error;
    }
    return this.#version;
  }

  check(): void {
    this.#pool.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new DOMException("The cluster was given up", "AbortError"));
    this.#credentials[Symbol.dispose]();
    await this.#tasks[Symbol.asyncDispose]();
    await this.#pool[Symbol.asyncDispose]();
  }

  get #label(): string {
    return serverLabel(this.name);
  }

  #refused(request: KubeRequest, status: number, text: string): PosternError {
    const what = `${request.method ?? "GET"} ${request.path.replace(/\?.*$/s, "")}`;
    return refusalError({ status, text, what, cluster: this.name });
  }

  /** One attempt at a whole answer, and how long to wait for the next one where that is worth it. */
  async #whole(
    request: KubeRequest,
    attempt: number,
    signal: AbortSignal,
  ): Promise<{ answer: KubeAnswer; delay: number | undefined }> {
    const { method = "GET", limit = usualLimit } = request;
    using _place = await this.#pool.place({ signal });
    const { connection, head } = await this.#ask(request, signal);
    await using ending = new AsyncDisposableStack();
    ending.use(connection);
    ending.defer(() => void this.#busy.delete(connection));
    const body = await aborting(connection, signal, () => connection.body(head, method, limit));
    if (connection.canGoOn(head)) {
      ending.move();
      this.#busy.delete(connection);
      this.#pool.giveBack(connection);
    }
    const { status, fields } = head;
    const mayRepeat = status === 429 || (method === "GET" && status >= 500);
    return { answer: { status, fields, body }, delay: mayRepeat ? this.#delay(head, attempt) : undefined };
  }

  #delay({ status, fields }: ResponseHead, attempt: number): number | undefined {
    const { random = Math.random } = this.#parts;
    return retryDelay({ status, retryAfter: fields.get("retry-after"), attempt, random });
  }

  /** The head of an answer: a connection that had died while idle and a refused sign-in are tried once more each. */
  async #ask(
    request: KubeRequest,
    signal: AbortSignal,
  ): Promise<{ connection: KubeConnection; head: ResponseHead }> {
    let isFresh = false;
    let isRenewed = false;
    while (true) {
      const credentials = await this.#credentials.current({ signal });
      const connection = await this.#pool.take(credentials, { signal, isFresh });
      this.#busy.add(connection);
      try {
        const bytes = requestBytes(request, { server: this.#context.cluster.server, credentials });
        const head = await aborting(connection, signal, () => connection.ask(bytes));
        this.#requests++;
        this.#note(head.status, request);
        if (head.status !== 401 || isRenewed || !await this.#credentials.renew({ signal })) {
          return { connection, head };
        }
        isRenewed = true;
        this.#pool.clear();
      } catch (error) {
        this.#busy.delete(connection);
        connection.abort(error);
        signal.throwIfAborted();
        const isStale = connection.wasUsed && !connection.isAnswered && !isFresh;
        // What was not answered may have been done; only what changes nothing is asked again.
        if (!isStale || (request.method ?? "GET") !== "GET") throw error;
        isFresh = true;
        continue;
      }
      this.#busy.delete(connection);
      await connection[Symbol.asyncDispose]();
    }
  }

  #note(status: number, request: KubeRequest): void {
    if (status === 401 || status === 429 || status >= 500) this.#failure = this.#refused(request, status, "");
    else this.#failure = undefined;
    if (!this.#mayAskVersion || status > 299) return;
    this.#mayAskVersion = false;
    this.#tasks.spawn(async (signal) => void await this.askVersion({ signal }));
  }

  /** Ends what takes too long, and what a caller or the end of the cluster gives up. */
  async #within<T>(
    { timeout: ms = usualTimeout }: { readonly timeout?: number },
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const error = () =>
      new PosternError(
        "timeout",
        `Cannot reach ${this.#label} (${formatTarget(this.#target)}): no answer within ${ms / 1000} s`,
        {
          hint: "check that it is reachable from here, through what its transport's via names",
        },
      );
    try {
      return await this.#joined(
        signal,
        (signal) => within({ clock: this.#parts.clock, ms, signal, error }, work),
      );
    } catch (error) {
      if (!signal.aborted) this.#failure = error;
      throw error;
    }
  }

  /** A signal that also ends with the cluster. */
  async #joined<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const own = new AbortController();
    using _caller = whenAborted(signal, () => own.abort(signal.reason));
    using _end = whenAborted(this.#ended.signal, () => own.abort(this.#ended.signal.reason));
    return await work(own.signal);
  }

  async #dropping<T>(
    connection: KubeConnection,
    { ms, signal, error }: { ms: number; signal: AbortSignal; error: () => unknown },
    work: () => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#parts;
    return await this.#joined(
      signal,
      (signal) => within({ clock, ms, signal, error }, (signal) => aborting(connection, signal, work)),
    );
  }
}

/** Drops a connection when the signal ends while something waits for it. */
async function aborting<T>(
  connection: KubeConnection,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  using _drop = whenAborted(signal, () => connection.abort(signal.reason));
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

function versionIn(text: string): string | undefined {
  return /"gitVersion":\s*"(v[\x21\x23-\x7e]{1,60})"/.exec(text)?.[1];
}
