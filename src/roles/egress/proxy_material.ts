import { asMapping, asText, type ConfigDocument, type Path } from "../../config/mod.ts";
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

/** The files with a proxy and its inputs. */
export interface ProxySources {
  /** A file with Proxy/cluster, and optionally its CA, Infrastructure and Network. */
  readonly file?: string | undefined;
  readonly installConfig?: string | undefined;
  /** A file of PEM certificates that replaces the ConfigMap named by the proxy. */
  readonly ca?: string | undefined;
}

/** A proposed proxy with the facts from the files. */
export interface ProxyMaterial {
  readonly spec: ProxySpec;
  /** Fields with a wrong type. */
  readonly problems: readonly SpecProblem[];
  /** The facts about the cluster; undefined when no file has them. */
  readonly facts: PlatformFacts | undefined;
  readonly clusterNetworks: readonly string[];
  /** The proxy's certificates, or why they are unusable; undefined when it names none or no file has them. */
  readonly ca: { readonly name: string; readonly text: string } | {
    readonly name: string;
    readonly problem: CaProblem;
  } | undefined;
  /** Whether the proxy names certificates; otherwise a cluster would not add them to its bundle. */
  readonly isTrusted: boolean;
  /** Why the list or the bundle lacks facts that a cluster would have. */
  readonly gaps: { readonly list: string | undefined; readonly bundle: string | undefined };
  /** Whether the proxy comes from an install-config, which has stricter rules. */
  readonly isInstall: boolean;
  readonly document: ConfigDocument;
  /** Maps a problem's path to its document. */
  readonly pathOf: (path: Path) => Path;
}

/** Reads a proxy and its inputs from files. */
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
      throw new PosternError(
        "usage",
        "Cannot check a proxy: missing argument: FILE or --install-config FILE",
      );
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
        : `no file contains the ConfigMap ${placeOfCa(spec.trustedCA)}; pass its certificates with --ca`,
    },
    isTrusted: spec.trustedCA !== undefined,
    isInstall: false,
    document: proxy.document,
    pathOf: (path) => [...proxy.path, ...path],
  };
}

/** Finds the Proxy "cluster"; OpenShift ignores other names. */
function theProxy(objects: readonly WrittenObject[], file: string): WrittenObject {
  const all = objects.filter(({ object }) => object["kind"] === "Proxy");
  const proxy = all.find(({ object }) => nameOf(object) === "cluster");
  if (proxy) return proxy;
  const others = all.map(({ object }) => JSON.stringify(nameOf(object))).join(", ");
  const why = others === ""
    ? "it has no Proxy"
    : `it has the Proxy ${others}, but only the name "cluster" is valid`;
  throw new PosternError("config", `Cannot check "${file}": ${why}`, {
    hint:
      "write the object like this: apiVersion: config.openshift.io/v1, kind: Proxy, metadata: { name: cluster }",
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

/** Why the no-proxy list differs from the one that a cluster would have. */
function listGap(facts: PlatformFacts | undefined, installed: unknown): string | undefined {
  if (!facts) return "no file contains both Infrastructure/cluster and Network/cluster";
  return installed ? undefined : "it lacks the machine networks; pass them with --install-config";
}

/** Ignores a ConfigMap in another namespace. */
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

/** The place where the controller finds the CA; the merged bundle's name means the merged bundle. */
function placeOfCa({ name }: { readonly name: string }): string {
  return `${name === "trusted-ca-bundle" ? "openshift-config-managed" : "openshift-config"}/${name}`;
}

/** Checks the API group, because the network operator has another kind Network. */
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
  return asText(asMapping(metadata)[key]) ?? "";
}
