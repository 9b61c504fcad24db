import type { ClusterToken, ExecCluster } from "../signin/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import { dialerThroughProxy } from "../http/mod.ts";
import { type ConfigSource, loadConfig, Transports } from "../plan/mod.ts";
import { connectInstance } from "../instances/mod.ts";

export interface CredentialRequest {
  readonly cluster: ExecCluster;
  /** A token that the user got elsewhere. */
  readonly given?: string | undefined;
  /** Selects an instance to connect through if the cluster names no proxy. */
  readonly source: ConfigSource;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * A token for an OpenShift cluster. Connects through the proxy in the kubeconfig, which is the instance;
 * without one, through the running instance, otherwise as an instance would.
 */
export async function clusterCredential(
  world: World,
  { cluster, given, source, log, signal }: CredentialRequest,
): Promise<ClusterToken> {
  const { mayHaveCredentials } = await import("../clusters/mod.ts");
  const { signInToOpenShift } = await import("../signin/mod.ts");
  const { trustedAuthority } = await import("../kube/mod.ts");
  const api = URL.parse(cluster.server);
  if (!api || !mayHaveCredentials(api)) {
    throw new PosternError("usage", "Cannot sign in: the server is not a URL that begins with https://", {
      hint: "use the form https://HOST:PORT, without a user",
    });
  }
  const ca = cluster.ca ?? await trustedAuthority(world, api);
  await using way = new ClusterPath(world, { cluster, source, log });
  return await signInToOpenShift(
    { api, ca, given },
    { world, log, dial: way.dial, say: (text) => world.terminal.err(text) },
    { signal },
  );
}

/** Adds a hint if the instance in the kubeconfig is not running, because kubectl's error has none. */
function withHint(error: unknown, proxyUrl: string | undefined): unknown {
  const isInstance = proxyUrl !== undefined && isPosternError(error, "unreachable") &&
    isPosternError(error.cause, "refused");
  if (!isInstance) return error;
  const { code, message } = error;
  return new PosternError(code, message, {
    cause: error,
    hint: "start an instance: postern proxy --background",
  });
}

/** Connects to a cluster on first use; most requests are answered from the cache. */
class ClusterPath implements AsyncDisposable {
  readonly #world: World;
  readonly #request: Pick<CredentialRequest, "cluster" | "source" | "log">;
  readonly #held = new AsyncDisposableStack();
  #dialer: Promise<Dialer> | undefined;

  constructor(world: World, request: Pick<CredentialRequest, "cluster" | "source" | "log">) {
    this.#world = world;
    this.#request = request;
  }

  readonly dial: Dialer = async (target, options) => {
    this.#dialer ??= this.#find(options.signal);
    const dial = await this.#dialer;
    try {
      return await dial(target, options);
    } catch (error) {
      throw withHint(error, this.#request.cluster.proxyUrl);
    }
  };

  async #find(signal: AbortSignal): Promise<Dialer> {
    const proxyUrl = this.#request.cluster.proxyUrl ?? await this.#runningInstance(signal);
    if (proxyUrl !== undefined) return dialerThroughProxy(proxyUrl, { name: "instance", world: this.#world });
    const config = await loadConfig(this.#world, this.#request.source);
    return this.#held.use(new Transports(this.#world, config, { log: this.#request.log })).dial;
  }

  async #runningInstance(signal: AbortSignal): Promise<string | undefined> {
    if (this.#request.source.config !== undefined) return undefined;
    try {
      const client = await connectInstance(this.#world, "default", { signal });
      const { proxyUrl, socks } = await client.env({ credentials: true, signal });
      return proxyUrl ?? socks;
    } catch (error) {
      if (isPosternError(error, "refused") && error.detail === "no_instance") return undefined;
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}
