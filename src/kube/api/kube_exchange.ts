import type { Dialer, Network } from "../../world/mod.ts";
import type { PosternError } from "../../words/mod.ts";
import type { ResponseHead } from "../../wire/mod.ts";
import { abortable, type HttpConnection, HttpPool } from "../../http/mod.ts";
import type { KubeRequest } from "./kube_api.ts";
import type { KubeContext } from "./kube_context.ts";
import { type CredentialParts, type Credentials, KubeCredentials } from "./kube_credentials.ts";
import { openConnection } from "./kube_opening.ts";
import { refusalError } from "./kube_refusal.ts";
import { requestBytes } from "./kube_request_bytes.ts";

export interface KubeExchangeParts extends CredentialParts {
  readonly network: Pick<Network, "secure">;
  /** Opens the connections: directly, through `via`, or through the cluster's proxy. */
  readonly dial: Dialer;
  /** Maximum number of concurrent requests; default: 4. */
  readonly most?: number | undefined;
}

/** A response whose head has arrived. The caller must give its connection back or drop it. */
export interface Answered {
  readonly connection: HttpConnection;
  readonly head: ResponseHead;
}

/** Sends requests to one API server and reads the response heads; chooses credentials and connections. */
export class KubeExchange implements AsyncDisposable {
  readonly #context: KubeContext;
  readonly #credentials: KubeCredentials;
  readonly #pool: HttpPool;
  readonly #open: (credentials: Credentials, signal: AbortSignal) => Promise<HttpConnection>;
  /** Connections that are in use. */
  readonly #busy = new Set<HttpConnection>();
  #requests = 0;
  /** The error of the last request, if it failed. */
  failure: unknown;

  constructor(context: KubeContext, parts: KubeExchangeParts) {
    this.#context = context;
    this.#credentials = new KubeCredentials(context, parts);
    this.#pool = new HttpPool({
      clock: parts.clock,
      most: parts.most,
    });
    this.#open = async (credentials, signal) => {
      const ca = await this.#credentials.ca();
      return await openConnection({ ...parts, context, credentials, ca, signal });
    };
  }

  /** Responses so far. */
  get requests(): number {
    return this.#requests;
  }

  /** The credential plugin that is running. */
  get signingInWith(): string | undefined {
    return this.#credentials.signingInWith;
  }

  get connections(): number {
    return this.#busy.size + this.#pool.idle;
  }

  /** Reserves one of the concurrent requests. */
  place(options: { readonly signal: AbortSignal }): Promise<Disposable> {
    return this.#pool.place(options);
  }

  /** Sends a request. Retries once each after a stale idle connection and after a refused sign-in. */
  async ask(request: KubeRequest, { signal }: { readonly signal: AbortSignal }): Promise<Answered> {
    let isFresh = false;
    let isRenewed = false;
    while (true) {
      const credentials = await this.#credentials.current({ signal });
      const connection = await this.#pool.take(
        credentials.identity,
        () => this.#open(credentials, signal),
        { isFresh },
      );
      this.#busy.add(connection);
      try {
        const bytes = requestBytes(request, { server: this.#context.cluster.server, credentials });
        const head = await abortable(connection, signal, () => connection.ask(bytes));
        this.#requests++;
        this.#note(head.status, request);
        if (head.status < 500 && head.status !== 401) this.#credentials.accepted(credentials);
        const mayRepeat = head.status === 401 && await this.#credentials.renew(credentials, { signal });
        if (!mayRepeat || isRenewed) return { connection, head };
        isRenewed = true;
        this.#pool.clear();
        await this.drop(connection);
      } catch (error) {
        this.letGo(connection);
        connection.abort(error);
        signal.throwIfAborted();
        const isStale = connection.wasUsed && !connection.isAnswered && !isFresh;
        // A request without a response may have taken effect, so only a GET is sent again.
        if (!isStale || (request.method ?? "GET") !== "GET") throw error;
        isFresh = true;
      }
    }
  }

  /** Returns a connection whose response was read to its end; it is reused if the server allows it. */
  async giveBack({ connection, head }: Answered): Promise<void> {
    if (!connection.canGoOn(head)) return await this.drop(connection);
    this.letGo(connection);
    this.#pool.giveBack(connection);
  }

  async drop(connection: HttpConnection): Promise<void> {
    this.letGo(connection);
    await connection[Symbol.asyncDispose]();
  }

  /** Stops tracking a connection that now belongs to the caller. */
  letGo(connection: HttpConnection): void {
    this.#busy.delete(connection);
  }

  refused({ method = "GET", path }: KubeRequest, status: number, text: string): PosternError {
    const what = `${method} ${path.replace(/\?.*$/s, "")}`;
    return refusalError({ status, text, what, cluster: this.#context.name });
  }

  allowSignIn(options?: { readonly atOnce?: boolean }): void {
    this.#credentials.allowSignIn(options);
  }

  /** Drops idle connections. */
  clear(): void {
    this.#pool.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#credentials[Symbol.dispose]();
    await this.#pool[Symbol.asyncDispose]();
  }

  #note(status: number, request: KubeRequest): void {
    const isTrouble = status === 401 || status === 429 || status >= 500;
    this.failure = isTrouble ? this.refused(request, status, "") : undefined;
  }
}
