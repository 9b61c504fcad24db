import type { ClusterToken, ExecCluster } from "../signin/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import { dialerThroughProxy } from "../http/mod.ts";
import { type ConfigSource, loadConfig, Transports } from "../plan/mod.ts";
import { connectInstance } from "../instances/mod.ts";

export interface CredentialRequest {
  readonly cluster: ExecCluster;
  /** A token that a person has got elsewhere. */
  readonly given?: string;
  /** For a door to go through where the cluster names none. */
  readonly source: ConfigSource;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * A token for a cluster of OpenShift. It is reached by the proxy that the kubeconfig names, which is our door; where it
 * names none by the door that runs, else as a door would reach it.
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
    throw new PosternError("usage", "Cannot sign in: the server is no address that begins with https://", {
      hint: "write it as https://HOST:PORT, without a user in it",
    });
  }
  const ca = cluster.ca ?? await trustedAuthority(world, api);
  await using way = new Way(world, { cluster, source, log });
  return await signInToOpenShift(
    { api, ...(ca !== undefined && { ca }), ...(given !== undefined && { given }) },
    { world, log, dial: way.dial, say: (text) => world.terminal.err(text) },
    { signal },
  );
}

/** The door that a kubeconfig names may not be there any more: kubectl will not say what to do about it. */
function withHint(error: unknown, proxyUrl: string | undefined): unknown {
  const isInstance = proxyUrl !== undefined && isPosternError(error, "unreachable") &&
    isPosternError(error.cause, "refused");
  if (!isInstance) return error;
  const { code, message } = error;
  return new PosternError(code, message, {
    cause: error,
    hint: "start the door: postern proxy --background",
  });
}

/** How a cluster is reached, found out when it is: most answers are there already. */
class Way implements AsyncDisposable {
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
    if (proxyUrl !== undefined) return dialerThroughProxy(proxyUrl, { name: "door", world: this.#world });
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
