import { asMapping, asText } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  acceptedStatus,
  automaticNoProxy,
  bootstrapManifests,
  bundleInjection,
  bundleKey,
  checkProxySpec,
  environmentFile,
  injectProxy,
  isWithoutProxy,
  mergedBundle,
  type ProxyStatus,
  readCaBundle,
  readSystemBundle,
  wantsBundle,
} from "../../egress/mod.ts";
import { type ClusterSource, readClusterProxy } from "./cluster_proxy.ts";
import { readObjects } from "./object_files.ts";
import { type ProxyMaterial, readProxyMaterial } from "./proxy_material.ts";

export interface RenderSources extends ClusterSource {
  /** Files with objects that may request injection. */
  readonly files: readonly string[];
  /** A file with the proxy; used instead of a cluster. */
  readonly proxy?: string | undefined;
  readonly installConfig?: string | undefined;
  readonly ca?: string | undefined;
  readonly systemTrust: "include" | "omit";
}

/** One object before and after injection. */
export interface RenderedObject {
  /** `Deployment shop/web`. */
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly isChanged: boolean;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The rendered objects, with warnings about facts that the files lack. */
export interface Rendering {
  readonly objects: readonly RenderedObject[];
  readonly warnings: readonly string[];
}

/** Renders the injection into objects from files. Writes nothing. */
export async function renderInjection(
  world: World,
  sources: RenderSources,
  { signal }: { signal: AbortSignal },
): Promise<Rendering> {
  const { status, bundle, warnings } = await injectedValues(world, sources, { signal });
  const objects: RenderedObject[] = [];
  const told = new Set<string>();
  for (const file of sources.files) {
    for (const { object } of await readObjects(world, file)) {
      const isMap = object["kind"] === "ConfigMap";
      const one = isMap ? withBundle(object, bundle) : withVariables(object, status);
      if (one) objects.push(one);
      const warning = isMap ? warnings.bundle : warnings.list;
      if (one?.isChanged && warning !== undefined) told.add(warning);
    }
  }
  return { objects, warnings: [...told] };
}

/** A new cluster's first objects. */
export interface Bootstrap {
  readonly manifests: readonly unknown[];
  /** The environment file for its nodes. */
  readonly environment: string;
  readonly status: ProxyStatus;
}

/** Renders a new cluster's first objects from its install-config. */
export async function renderBootstrap(
  world: World,
  { installConfig, ca, systemTrust }: Pick<RenderSources, "installConfig" | "ca" | "systemTrust">,
): Promise<Bootstrap> {
  const material = await readProxyMaterial(world, { installConfig, ca });
  const accepted = await acceptedOf(world, material, systemTrust);
  const trustBundle = material.ca && "text" in material.ca ? material.ca.text : undefined;
  const { spec } = material;
  const { status } = accepted;
  const manifests = bootstrapManifests({ spec, status, trustBundle, merged: accepted.bundle });
  return { manifests, environment: environmentFile(status), status };
}

interface Accepted {
  readonly status: ProxyStatus;
  readonly bundle: string;
  /** Why the variables or the bundle may be incomplete. */
  readonly warnings: { readonly list?: string; readonly bundle?: string };
}

/** The values that the controller would accept from files; throws one error with every problem. */
async function acceptedOf(
  world: World,
  { spec, problems, facts, clusterNetworks, isInstall, isTrusted, ca, document, gaps }: ProxyMaterial,
  systemTrust: "include" | "omit",
): Promise<Accepted> {
  const report = checkProxySpec(spec, { clusterNetworks, refusesSpaces: isInstall });
  const list = facts && !isWithoutProxy(spec) ? automaticNoProxy(facts) : undefined;
  const text = ca && "text" in ca ? ca.text : undefined;
  const certificates = text === undefined
    ? undefined
    : await readCaBundle(text, { now: world.clock.date(), refusesTextBehind: isInstall });
  const system = systemTrust === "omit" ? [] : await readSystemBundle(await world.network.trusted?.() ?? []);
  const merged = mergedBundle(isTrusted ? certificates?.certificates ?? [] : [], system);
  const found = [
    ...[...problems, ...report.problems].map(({ message }) => message),
    ...(ca && "problem" in ca ? [`${ca.name} ${ca.problem.message}`] : []),
    ...(certificates?.problems ?? []).map(({ message }) => `${ca?.name} ${message}`),
    ...(list?.problems ?? []),
    ...("problem" in merged ? [`the merged bundle ${merged.problem.message}`] : []),
  ];
  if (found.length === 0 && "text" in merged) {
    return {
      status: acceptedStatus(spec, list?.entries ?? []),
      bundle: merged.text,
      warnings: {
        ...(gaps.list !== undefined && { list: `NO_PROXY is incomplete: ${gaps.list}` }),
        ...(gaps.bundle !== undefined && { bundle: `the bundle is incomplete: ${gaps.bundle}` }),
      },
    };
  }
  throw new PosternError("config", `Cannot accept the proxy in "${document.name}": ${found.join("; ")}`, {
    hint: "find the lines with: postern egress check",
  });
}

async function injectedValues(
  world: World,
  { proxy, installConfig, ca, systemTrust, kubeconfig, context }: RenderSources,
  { signal }: { signal: AbortSignal },
): Promise<Accepted> {
  if (proxy !== undefined || installConfig !== undefined) {
    const material = await readProxyMaterial(world, { file: proxy, installConfig, ca });
    return await acceptedOf(world, material, systemTrust);
  }
  const inputs = await readClusterProxy(world, { kubeconfig, context }, { signal });
  const status = asMapping(inputs.proxy?.["status"]);
  const bundle = asMapping(inputs.managed?.["data"])[bundleKey];
  return {
    status: {
      httpProxy: asText(status["httpProxy"]) ?? "",
      httpsProxy: asText(status["httpsProxy"]) ?? "",
      noProxy: asText(status["noProxy"]) ?? "",
    },
    bundle: asText(bundle) ?? "",
    warnings: {},
  };
}

function withVariables(
  object: Readonly<Record<string, unknown>>,
  status: ProxyStatus,
): RenderedObject | undefined {
  const { object: after, isChanged, problems, warnings } = injectProxy(object, status);
  if (!isChanged && problems.length === 0 && warnings.length === 0) return undefined;
  return { name: nameOf(object), before: object, after, isChanged, problems, warnings };
}

function withBundle(object: Readonly<Record<string, unknown>>, bundle: string): RenderedObject | undefined {
  if (!wantsBundle(object)) return undefined;
  const name = nameOf(object);
  if (bundle === "") {
    const warnings = ["the cluster has no CA bundle yet"];
    return { name, before: object, after: object, isChanged: false, problems: [], warnings };
  }
  if (!bundleInjection(object, bundle)) return undefined;
  const after = { ...object, data: { ...asMapping(object["data"]), [bundleKey]: bundle } };
  return { name, before: object, after, isChanged: true, problems: [], warnings: [] };
}

function nameOf(object: Readonly<Record<string, unknown>>): string {
  const { name, namespace } = asMapping(object["metadata"]);
  return `${(asText(object["kind"]) ?? "")} ${
    [asText(namespace) ?? "", asText(name) ?? ""].filter((part) => part !== "").join("/")
  }`;
}
