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
  /** How its connections are made: straight, through `via`, or through the cluster's proxy. */
  readonly dial: Dialer;
  /** How many requests may run at once; 4 unless told. */
  readonly most?: number | undefined;
}

/** An answer of which the head has come. Its connection is the caller's, to be given back or let go. */
export interface Answered {
  readonly connection: HttpConnection;
  readonly head: ResponseHead;
}

/** Requests to one API server and the begin of their answers: who signs in, and on which connection. */
export class KubeExchange implements AsyncDisposable {
  readonly #context: KubeContext;
  readonly #credentials: KubeCredentials;
  readonly #pool: HttpPool;
  readonly #open: (credentials: Credentials, signal: AbortSignal) => Promise<HttpConnection>;
  /** Connections that are not idle. */
  readonly #busy = new Set<HttpConnection>();
  #requests = 0;
  /** Why the last request that failed did. */
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

  /** Answered so far. */
  get requests(): number {
    return this.#requests;
  }

  /** The credential plugin that runs now. */
  get signingInWith(): string | undefined {
    return this.#credentials.signingInWith;
  }

  get connections(): number {
    return this.#busy.size + this.#pool.idle;
  }

  /** A place among the requests that may run at once. */
  place(options: { readonly signal: AbortSignal }): Promise<Disposable> {
    return this.#pool.place(options);
  }

  /** A connection that had died while it was idle, and a sign-in that is refused, are tried once more each. */
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
        // What was not answered may have been done; only what changes nothing is asked again.
        if (!isStale || (request.method ?? "GET") !== "GET") throw error;
        isFresh = true;
      }
    }
  }

  /** The answer was read to its end: the connection may carry another request, if the server lets it. */
  async giveBack({ connection, head }: Answered): Promise<void> {
    if (!connection.canGoOn(head)) return await this.drop(connection);
    this.letGo(connection);
    this.#pool.giveBack(connection);
  }

  async drop(connection: HttpConnection): Promise<void> {
    this.letGo(connection);
    await connection[Symbol.asyncDispose]();
  }

  /** The connection is somebody else's from here on. */
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

  /** Drops what is idle. */
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
