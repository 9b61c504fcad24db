import type { Conn } from "../../core/mod.ts";
import type { Fields } from "../../wire/mod.ts";

/**
 * One cluster's API server. It connects only through the dialer it was given, and every wait has a deadline
 * in addition to the caller's signal. After a 401 it retries once with fresh credentials before the caller
 * sees the refusal.
 */
export interface KubeApi extends AsyncDisposable {
  /** The context of the kubeconfig, for messages. */
  readonly name: string;
  /** Returns the whole response, whatever its status, after retrying a GET that got 429 or 5xx. */
  request(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<KubeAnswer>;
  /**
   * Returns the object of a 2xx response. Any other status is an error that names the cluster and, for 403,
   * the missing right.
   */
  json(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<unknown>;
  /** Opens a long-running response, such as a watch, on a separate connection. The caller must close it. */
  stream(request: KubeStreamRequest, options: { readonly signal: AbortSignal }): Promise<KubeStream>;
  /** Requests a protocol upgrade on a separate connection. After a 101 the caller owns that connection. */
  upgrade(request: KubeRequest, options: { readonly signal: AbortSignal }): Promise<KubeUpgrade>;
  /** The server's version, requested once; undefined if the server does not report it. */
  askVersion(options: { readonly signal: AbortSignal }): Promise<string | undefined>;
  /**
   * Allows a failed credential plugin to run again at the next request, because a person wants to use this
   * cluster. For 10 s after a failure this does nothing, so that many connections in a row open only one
   * browser window; `atOnce` skips this delay. Background work never calls this.
   */
  allowSignIn(options?: { readonly atOnce?: boolean }): void;
  /** Drops idle connections, which may be dead after the machine slept or the network changed. */
  check(): void;
  status(): KubeApiStatus;
}

export interface KubeRequest {
  /** Default: GET. */
  readonly method?: string;
  /** Encoded, from the root of the API server, with its query: `/api/v1/namespaces/a/pods/b?…`. */
  readonly path: string;
  /** In addition to Host, User-Agent, Authorization and the impersonation headers. */
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Maximum size of the response in bytes; default: 16 MiB. */
  readonly limit?: number;
  /** Timeout of the whole exchange in ms; default: 20 s. */
  readonly timeout?: number;
}

export interface KubeStreamRequest extends Omit<KubeRequest, "limit" | "timeout"> {
  /** How long the server may send nothing before a read fails with `timeout`, in ms. */
  readonly silence: number;
}

/** A long 2xx response, or any other response with the beginning of its body in `text`. */
export type KubeStream =
  & AsyncDisposable
  & ({
    readonly status: number;
    readonly fields: Fields;
    readonly text?: undefined;
    /** The next bytes, valid until the next call; undefined at the end. */
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

/** The response to an upgrade request. */
export type KubeUpgrade =
  /** 101: the connection now speaks the new protocol and starts with the bytes that arrived early. */
  | { readonly status: 101; readonly fields: Fields; readonly conn: Conn }
  /** Any other status; `text` is the beginning of the body. */
  | { readonly status: number; readonly fields: Fields; readonly conn?: undefined; readonly text: string };

/** The state of an API server's connections, for `status` and `doctor`. */
export interface KubeApiStatus {
  /** Host and port: `127.0.0.1:6443`. */
  readonly server: string;
  /** `v1.35.4`; absent until the server has reported it. */
  readonly version?: string;
  /** Responses so far, of any status. */
  readonly requests: number;
  /**
   * Current connections: idle ones, and those of requests and watches. Upgraded connections are counted by
   * their owner.
   */
  readonly connections: number;
  /** The error of the last request; absent if that request succeeded. */
  readonly lastError?: string;
  readonly hint?: string;
  /** The credential plugin that is running; every request waits for it. */
  readonly signingInWith?: string;
}
