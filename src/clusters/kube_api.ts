import type { Conn } from "../core/mod.ts";
import type { Fields } from "../wire/mod.ts";

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
  /**
   * The objects of a watch, a line each, until the server ends the answer. A server that says nothing for `silence`
   * is `timeout`; an answer that is not 2xx fails as in `json`.
   */
  lines(request: KubeLinesRequest, options: { readonly signal: AbortSignal }): AsyncIterable<unknown>;
  /** Asks for another protocol on a connection of its own, which is the caller's from a 101 on. */
  upgrade(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<KubeUpgrade>;
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

export interface KubeLinesRequest extends Omit<KubeRequest, "limit" | "timeout"> {
  /** How long nothing may come, in ms. */
  readonly silence: number;
}

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
  /** Connections to it now: idle ones, those of requests, watches, and upgraded ones that are open. */
  readonly connections: number;
  /** Why the last request that failed did; absent after one that did not. */
  readonly lastError?: string;
  readonly hint?: string;
}
