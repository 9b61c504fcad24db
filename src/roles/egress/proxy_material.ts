import { type ConfigDocument, isMapping, type Path } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  bundleTextOf,
  type CaProblem,
  isWithoutProxy,
  type PlatformFacts,
  type ProxySpec,
  readInfrastructure,
  readInstallConfig,
  readNetwork,
  readProxySpec,
  type SpecProblem,
} from "../../egress/mod.ts";
import { readDocument, readObjects, type WrittenObject } from "./object_files.ts";

/** Where a proxy is written, and what it depends on. */
export interface ProxySources {
  /** A file with Proxy/cluster, and with what else of it is at hand: its CA, Infrastructure, Network. */
  readonly file?: string | undefined;
  readonly installConfig?: string | undefined;
  /** A file of PEM certificates, in place of the ConfigMap that the proxy names. */
  readonly ca?: string | undefined;
}

/** A proposed proxy with all that files say about it. */
export interface ProxyMaterial {
  readonly spec: ProxySpec;
  /** Fields of another type. */
  readonly problems: readonly SpecProblem[];
  /** What the cluster says of itself, or will say; undefined where no file tells. */
  readonly facts: PlatformFacts | undefined;
  readonly clusterNetworks: readonly string[];
  /** The certificates that it names, or why there are none; undefined where it names none, or no file has them. */
  readonly ca: { readonly name: string; readonly text: string } | {
    readonly name: string;
    readonly problem: CaProblem;
  } | undefined;
  /** Whether a cluster would take such certificates into its bundle: the proxy has to name some. */
  readonly isTrusted: boolean;
  /** What the files leave open, and a cluster would have: the list, or the bundle, lacks that. */
  readonly gaps: { readonly list: string | undefined; readonly bundle: string | undefined };
  /** The proxy is of an install-config, which has stricter rules. */
  readonly isInstall: boolean;
  readonly document: ConfigDocument;
  /** The place of a problem in its document. */
  readonly pathOf: (path: Path) => Path;
}

/** Reads what files say of a proxy. */
export async function readProxyMaterial(
  world: Pick<World, "files">,
  { file, installConfig, ca: caFile }: ProxySources,
): Promise<ProxyMaterial> {
  const install = installConfig === undefined ? undefined : await readDocument(world, installConfig);
  const caText = caFile === undefined
    ? undefined
    : await world.files.readText(caFile, { limit: 2 * 1024 * 1024 });
  const installed = install && readInstallConfig(install.value, { ca: caText });
  if (file === undefined) {
    if (!install || !installed) {
      throw new PosternError("usage", "Cannot check a proxy: name a FILE or --install-config");
    }
    const { spec, problems, facts, clusterNetworks, trustBundle } = installed;
    const name = "additionalTrustBundle";
    const text = caText ?? trustBundle;
    return {
      spec,
      problems,
      facts,
      clusterNetworks,
      ca: text === undefined ? undefined : { name, text },
      gaps: { list: undefined, bundle: undefined },
      isTrusted: spec.trustedCA !== undefined,
      isInstall: true,
      document: install,
      pathOf: (path) => path[0] === "spec" ? ["proxy", ...path.slice(1)] : path,
    };
  }
  const objects = await readObjects(world, file);
  const proxy = theProxy(objects, file);
  const { spec, problems } = readProxySpec(proxy.object["spec"]);
  const facts = installed?.facts ?? factsOf(objects);
  const network = facts?.network ?? readNetwork(find(objects, "Network")?.object);
  const ca = caText === undefined ? caOf(spec, objects) : { name: caFile ?? "", text: caText };
  return {
    spec,
    problems,
    facts,
    clusterNetworks: installed?.clusterNetworks ?? [...network.clusterNetworks, ...network.serviceNetworks],
    ca,
    gaps: {
      list: isWithoutProxy(spec) || spec.noProxy === "*" ? undefined : listGap(facts, installed),
      bundle: ca || !spec.trustedCA
        ? undefined
        : `no file has the ConfigMap ${placeOfCa(spec.trustedCA)}; name its certificates with --ca`,
    },
    isTrusted: spec.trustedCA !== undefined,
    isInstall: false,
    document: proxy.document,
    pathOf: (path) => [...proxy.path, ...path],
  };
}

/** The only Proxy that counts is called "cluster". */
function theProxy(objects: readonly WrittenObject[], file: string): WrittenObject {
  const all = objects.filter(({ object }) => object["kind"] === "Proxy");
  const proxy = all.find(({ object }) => nameOf(object) === "cluster");
  if (proxy) return proxy;
  const others = all.map(({ object }) => JSON.stringify(nameOf(object))).join(", ");
  const why = others === "" ? "it has no Proxy" : `only the Proxy "cluster" counts, not ${others}`;
  throw new PosternError("config", `Cannot check "${file}": ${why}`, {
    hint:
      "write the object as the API has it: apiVersion: config.openshift.io/v1, kind: Proxy, metadata: { name: cluster }",
  });
}

function factsOf(objects: readonly WrittenObject[]): PlatformFacts | undefined {
  const infrastructure = find(objects, "Infrastructure");
  const network = find(objects, "Network");
  if (!infrastructure || !network) return undefined;
  return {
    infrastructure: readInfrastructure(infrastructure.object),
    network: readNetwork(network.object),
    install: { machineNetworks: [] },
  };
}

/** Why the list of what goes past the proxy is not the one that a cluster would have. */
function listGap(facts: PlatformFacts | undefined, installed: unknown): string | undefined {
  if (!facts) return "no file has both Infrastructure/cluster and Network/cluster, which tell the rest of it";
  return installed
    ? undefined
    : "no network of the machines is in it: name the --install-config that has them";
}

/** One that the file puts into another namespace is not the one that counts. */
function caOf({ trustedCA }: ProxySpec, objects: readonly WrittenObject[]): ProxyMaterial["ca"] {
  if (!trustedCA) return undefined;
  const place = placeOfCa(trustedCA);
  const map = objects.find(({ object }) => {
    const namespace = metaText(object, "namespace");
    return object["kind"] === "ConfigMap" && metaText(object, "name") === trustedCA.name &&
      (namespace === "" || `${namespace}/${trustedCA.name}` === place);
  });
  return map && { name: `ConfigMap "${trustedCA.name}"`, ...bundleTextOf(map.object) };
}

/** Where the controller looks it up: one that is called as the merged bundle is that one. */
function placeOfCa({ name }: { readonly name: string }): string {
  return `${name === "trusted-ca-bundle" ? "openshift-config-managed" : "openshift-config"}/${name}`;
}

/** The operator has a kind Network too, of another group. */
function find(objects: readonly WrittenObject[], kind: string): WrittenObject | undefined {
  return objects.find(({ object }) => {
    const { apiVersion = "config.openshift.io/v1" } = object;
    const isOfConfig = typeof apiVersion === "string" && apiVersion.startsWith("config.openshift.io/");
    return isOfConfig && object["kind"] === kind && nameOf(object) === "cluster";
  });
}

function nameOf(object: Readonly<Record<string, unknown>>): string {
  return metaText(object, "name");
}

function metaText({ metadata }: Readonly<Record<string, unknown>>, key: string): string {
  const value = isMapping(metadata) ? metadata[key] : undefined;
  return typeof value === "string" ? value : "";
}
