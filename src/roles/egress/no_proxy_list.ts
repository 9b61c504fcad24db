import type { World } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import {
  automaticNoProxy,
  type AutomaticSettings,
  checkNoProxy,
  mergedNoProxy,
  type NoProxyClient,
  type NoProxyVerdict,
  noProxyVerdicts,
  type PlatformFacts,
} from "../../egress/mod.ts";
import { type ClusterSource, factsOfCluster, readClusterProxy } from "./cluster_proxy.ts";
import { readProxyMaterial } from "./proxy_material.ts";

/** The source of a list: the list itself, an install-config, facts from options, or a cluster. */
export interface NoProxySources extends ClusterSource {
  /** Used unchanged. */
  readonly list?: string | undefined;
  readonly installConfig?: string | undefined;
  readonly facts?: PlatformFacts | undefined;
  /** The administrator's entries; they replace those from files or the cluster. */
  readonly user?: string | undefined;
  readonly automatic: AutomaticSettings;
  /** The URLs to check for each client. */
  readonly urls: readonly string[];
}

/** A no-proxy list, and how each client treats the URLs. */
export interface NoProxyList {
  readonly noProxy: string;
  readonly warnings: readonly string[];
  readonly verdicts: readonly UrlVerdicts[];
}

/** How each client treats a URL. */
export interface UrlVerdicts {
  readonly url: string;
  readonly clients: Readonly<Record<NoProxyClient, NoProxyVerdict>>;
}

/** Returns the no-proxy list that a cluster has or would get, and how each client treats the URLs. */
export async function noProxyList(
  world: World,
  sources: NoProxySources,
  { signal }: { signal: AbortSignal },
): Promise<NoProxyList> {
  const { noProxy, warnings } = await listOf(world, sources, { signal });
  const verdicts = sources.urls.map((url) => {
    const clients = noProxyVerdicts(noProxy, url);
    if (clients) return { url, clients };
    throw new PosternError("usage", "Cannot check a URL: it has no scheme or no host", {
      hint: "write it as https://HOST/",
    });
  });
  return { noProxy, warnings, verdicts };
}

async function listOf(
  world: World,
  { list, installConfig, facts, user, automatic, ...cluster }: NoProxySources,
  { signal }: { signal: AbortSignal },
): Promise<Omit<NoProxyList, "verdicts">> {
  if (list !== undefined) return { noProxy: list, warnings: [] };
  if (facts) return merged({ facts, user: user ?? "" }, automatic);
  if (installConfig !== undefined) {
    const material = await readProxyMaterial(world, { installConfig });
    if (!material.facts) {
      throw new PosternError("internal", "Cannot compute the no-proxy list: the install-config has no facts");
    }
    return merged({ facts: material.facts, user: user ?? material.spec.noProxy ?? "" }, automatic);
  }
  const inputs = await readClusterProxy(world, cluster, { signal });
  const made = merged({ facts: factsOfCluster(inputs), user: user ?? inputs.spec.noProxy ?? "" }, automatic);
  if (inputs.install) return made;
  const why = "kube-system has no install-config: the no-proxy list lacks the machine networks";
  return { ...made, warnings: [...made.warnings, why] };
}

function merged(
  { facts, user }: { readonly facts: PlatformFacts; readonly user: string },
  settings: AutomaticSettings,
): Omit<NoProxyList, "verdicts"> {
  const checked = checkNoProxy(user);
  const { entries, problems, warnings } = automaticNoProxy(facts, settings);
  const all = [...checked.problems.map(({ message }) => message), ...problems];
  if (all.length > 0) {
    throw new PosternError("config", `Cannot compute the no-proxy list: ${all.join("; ")}`, {
      hint: "find the fields with: postern egress check",
    });
  }
  return {
    noProxy: mergedNoProxy(user, entries),
    warnings: [...checked.warnings.map(({ message }) => message), ...warnings],
  };
}
