// The parts of `@kubernetes/client-node` that tests use. Its own types need `@types/node`, which would
// replace Deno's types for the whole program.
import type { PassThrough } from "node:stream";

export class KubeConfig {
  loadFromFile(file: string): void;
  /**
   * Loads the files of the environment; the current context comes from the last file, or from the first one
   * as in kubectl.
   */
  loadFromDefault(options: undefined, contextFromStartingConfig: boolean): void;
  getContexts(): readonly { readonly name: string }[];
  getCurrentContext(): string | undefined;
  getContextObject(name: string): Context | null;
  getCluster(name: string): Cluster | null;
  getUser(name: string): User | null;
  makeApiClient(api: typeof CoreV1Api): CoreV1Api;
}

export interface Context {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

export interface Cluster {
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly skipTLSVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

export interface User {
  readonly certData?: string;
  readonly certFile?: string;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonateUser?: string;
  readonly exec?: {
    readonly apiVersion: string;
    readonly command: string;
    readonly args?: readonly string[] | null;
    readonly env?: readonly { readonly name: string; readonly value?: string }[] | null;
  };
}

export class CoreV1Api {
  listNamespacedService(
    request: { readonly namespace: string },
  ): Promise<{ readonly items: readonly { readonly metadata?: { readonly name?: string } }[] }>;
}

export class Watch {
  constructor(config: KubeConfig);
  watch(
    path: string,
    query: Readonly<Record<string, string>>,
    onEvent: (type: string, object: { readonly metadata: { readonly name: string } }) => void,
    onEnd: (error: unknown) => void,
  ): Promise<AbortController>;
}

export class PortForward {
  constructor(config: KubeConfig);
  portForward(
    namespace: string,
    pod: string,
    ports: readonly number[],
    output: PassThrough,
    errors: PassThrough,
    input: PassThrough,
  ): Promise<{ close(): void } | (() => unknown)>;
}
