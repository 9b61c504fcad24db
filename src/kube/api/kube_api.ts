import type { Conn } from "../../core/mod.ts";
import type { Fields } from "../../wire/mod.ts";

/**
 * One cluster's API server. Every connection of it is made by the dialer it was given, every wait has a deadline
 * besides the caller's signal, and a refused sign-in (401) is tried once more with fresh credentials before anybody
 * hears of it.
 */
export interface KubeApi extends AsyncDisposable {
  /** How messages name it: the context of the kubeconfig. */
  readonly name: string;
  /** The whole answer, whatever its status: 429 and 5xx of a GET have been tried again by then. */
  request(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<KubeAnswer>;
  /** The object of an answer of 2xx; any other is an error that names the cluster and, where it is 403, the right. */
  json(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<unknown>;
  /** An answer that goes on for long, on a connection of its own: a watch. It is the caller's to end. */
  stream(request: KubeStreamRequest, options: { readonly signal: AbortSignal }): Promise<KubeStream>;
  /** Asks for another protocol on a connection of its own, which is the caller's from a 101 on. */
  upgrade(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<KubeUpgrade>;
  /** The server's version, asked for once; undefined where it does not tell. */
  askVersion(options: { readonly signal: AbortSignal }): Promise<string | undefined>;
  /**
   * A person wants something of this cluster: a credential plugin that failed may run again at the next request. A
   * failure of the last 10 s stays, so that many connections in a row open one window; with `atOnce` none stays.
   * Background work never calls this.
   */
  allowSignIn(options?: { readonly atOnce?: boolean }): void;
  /** We have slept, or the network has changed: what is idle may be dead, and is dropped. */
  check(): void;
  status(): KubeApiStatus;
}

export interface KubeRequest {
  /** GET unless told. */
  readonly method?: string;
  /** From the root of the API server, encoded, with its query: `/api/v1/namespaces/a/pods/b?…`. */
  readonly path: string;
  /** Besides Host, User-Agent, Authorization and what impersonation needs. */
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The most bytes of the answer; 16 MiB unless told. */
  readonly limit?: number;
  /** For the whole exchange, in ms; 20 s unless told. */
  readonly timeout?: number;
}

export interface KubeStreamRequest extends Omit<KubeRequest, "limit" | "timeout"> {
  /** How long nothing may come before a read fails with `timeout`, in ms. */
  readonly silence: number;
}

/** A long answer of 2xx, or one that is not; then `text` is the begin of what the server says of it. */
export type KubeStream =
  & AsyncDisposable
  & ({
    readonly status: number;
    readonly fields: Fields;
    readonly text?: undefined;
    /** The next bytes, which are valid until the next call; undefined at the end. */
    read(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  } | {
    readonly status: number;
    readonly fields: Fields;
    readonly text: string;
    readonly read?: undefined;
  });

export interface KubeAnswer {
  readonly status: number;
  readonly fields: Fields;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** What became of a request for another protocol. */
export type KubeUpgrade =
  /** 101: the connection speaks that protocol; what came early is read first. */
  | { readonly status: 101; readonly fields: Fields; readonly conn: Conn }
  /** Anything else; `text` is the begin of what the server says of it. */
  | { readonly status: number; readonly fields: Fields; readonly conn?: undefined; readonly text: string };

/** What `status` and `doctor` show of an API server. */
export interface KubeApiStatus {
  /** Where it is: `127.0.0.1:6443`. */
  readonly server: string;
  /** `v1.35.4`, once it was asked. */
  readonly version?: string;
  /** Answered so far, of any status. */
  readonly requests: number;
  /** Connections to it now: idle ones, and those of requests and watches; whoever upgraded one counts it. */
  readonly connections: number;
  /** Why the last request that failed did; absent after one that did not. */
  readonly lastError?: string;
  readonly hint?: string;
  /** The credential plugin that runs now: every request waits for it. */
  readonly signingInWith?: string;
}
