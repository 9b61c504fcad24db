import { findContext } from "../config/context_names.ts";
import type { KubeConfig } from "../api/kube_config.ts";
import type { Clock, Conn, DialOptions } from "../../core/mod.ts";
import { formatTarget, PosternError, type Target } from "../../words/mod.ts";
import type { KubernetesSettings } from "./kubernetes_settings.ts";
import type { ClusterLink } from "./cluster_link.ts";
import type { ClusterLinks } from "./cluster_links.ts";

export interface ClusterSetOptions {
  readonly settings: KubernetesSettings;
  readonly clock: Clock;
  readonly config: KubeConfig;
  readonly links: Pick<ClusterLinks, "make">;
}

interface Held {
  readonly link: ClusterLink;
  /** The settings it was created from, for comparison. */
  readonly made: string;
}

/** The contexts of a kubeconfig that a transport uses; each starts with its first use. */
export class ClusterSet implements AsyncDisposable {
  #config: KubeConfig;
  readonly #options: ClusterSetOptions;
  readonly #links = new Map<string, Held>();
  /** Links from a former kubeconfig; they stay until their connections end. */
  readonly #retired = new Set<ClusterLink>();
  #sweep: Disposable | undefined;

  constructor(options: ClusterSetOptions) {
    this.#options = options;
    this.#config = options.config;
  }

  /** The clusters in use, in the order of their first use. */
  get links(): readonly ClusterLink[] {
    return [...this.#links.values()].map(({ link }) => link);
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    const { link, host } = this.find(target.host) ?? this.#noContext(target);
    return await link.dial({ host, port: target.port }, options);
  }

  /** The only cluster, put into use if necessary; undefined with several contexts. */
  get single(): ClusterLink | undefined {
    return this.#options.settings.contexts === undefined ? this.#linkOf(this.#contextName()) : undefined;
  }

  /** The only cluster, if it is already in use. */
  get used(): ClusterLink | undefined {
    const { contexts } = this.#options.settings;
    return contexts === undefined ? this.#links.get(this.#contextName())?.link : undefined;
  }

  /** Applies a newly read kubeconfig to new connections. */
  renew(config: KubeConfig): void {
    this.#config = config;
    const { contexts, context = config.currentContext } = this.#options.settings;
    for (const [name, { link, made }] of this.#links) {
      const counts = contexts !== undefined || name === context;
      if (counts && madeOf(config, name) === made) {
        link.api.allowSignIn({ atOnce: true });
        continue;
      }
      this.#links.delete(name);
      this.#retired.add(link);
    }
    this.#rest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweep?.[Symbol.dispose]();
    await Promise.all([...this.links, ...this.#retired].map((link) => link[Symbol.asyncDispose]()));
    this.#links.clear();
    this.#retired.clear();
  }

  /** The cluster of a host, and the host's name there. */
  find(host: string): { link: ClusterLink; host: string } | undefined {
    const { contexts, suffix } = this.#options.settings;
    if (contexts === undefined) return { link: this.#linkOf(this.#contextName()), host };
    const name = host.toLowerCase().replace(/\.$/, "");
    const end = `.${suffix?.toLowerCase()}`;
    if (!name.endsWith(end)) return undefined;
    const names = contexts === "all" ? this.#config.contextNames : contexts;
    const found = findContext(name.slice(0, -end.length), names);
    return found && { link: this.#linkOf(found.context), host: found.name };
  }

  #noContext(target: Target): never {
    const { contexts, suffix, kubeconfigs } = this.#options.settings;
    const names = contexts === "all" ? this.#config.contextNames : contexts ?? [];
    throw new PosternError(
      "name_not_found",
      `Cannot find ${formatTarget(target)}: its name contains no context of ${quoted(kubeconfigs)}`,
      { hint: `use NAME.CONTEXT.${suffix} with one of these contexts: ${names.slice(0, 20).join(", ")}` },
    );
  }

  #contextName(): string {
    const { context, kubeconfigs } = this.#options.settings;
    return context ?? currentContextOf(this.#config, kubeconfigs);
  }

  #linkOf(name: string): ClusterLink {
    const held = this.#links.get(name);
    if (held) return held.link;
    const { settings } = this.#options;
    const context = this.#config.context(name);
    const link = this.#options.links.make({
      context,
      namespace: settings.namespace ?? context.namespace,
      ...(settings.contexts === undefined && { suffix: settings.suffix }),
    });
    this.#links.set(name, { link, made: madeOf(this.#config, name) });
    return link;
  }

  /** Checks periodically whether retired links still have connections. */
  #rest(): void {
    if (this.#retired.size === 0) return;
    this.#sweep ??= this.#options.clock.after(sweepEvery, () => {
      this.#sweep = undefined;
      for (const link of this.#retired) {
        if (link.isInUse) continue;
        this.#retired.delete(link);
        // The link has no connections, so a failure to close it does not matter.
        link[Symbol.asyncDispose]().catch(() => {});
      }
      this.#rest();
    });
  }
}

/** How often to check the retired links, in ms. */
const sweepEvery = 10_000;

/** A context as text for comparison; an invalid context becomes its error message. */
function madeOf(config: KubeConfig, name: string): string {
  try {
    return JSON.stringify(config.context(name));
  } catch (error) {
    return String(error);
  }
}

/** The context to use if the configuration names none. */
export function currentContextOf(
  { currentContext, contextNames }: KubeConfig,
  kubeconfigs: readonly string[],
): string {
  if (currentContext !== undefined) return currentContext;
  throw new PosternError("config", `Cannot choose a context: ${quoted(kubeconfigs)} has no current-context`, {
    hint: `set context to one of: ${contextNames.slice(0, 20).join(", ") || "(there are none)"}`,
  });
}

function quoted(paths: readonly string[]): string {
  return paths.map((path) => `"${path}"`).join(", ");
}
