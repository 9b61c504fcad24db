import { type ConfigDocument, isMapping, type Path } from "../../config/mod.ts";
import { PosternError, type World } from "../../core/mod.ts";
import {
  bundleTextOf,
  type CaProblem,
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
  const installed = install && readInstallConfig(install.value);
  const caText = caFile === undefined
    ? undefined
    : await world.files.readText(caFile, { limit: 2 * 1024 * 1024 });
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
  return {
    spec,
    problems,
    facts,
    clusterNetworks: installed?.clusterNetworks ?? [...network.clusterNetworks, ...network.serviceNetworks],
    ca: caText === undefined ? caOf(spec, objects) : { name: caFile ?? "", text: caText },
    isInstall: false,
    document: proxy.document,
    pathOf: (path) => [...proxy.path, ...path],
  };
}

/** The only Proxy that counts is called "cluster" (S35). */
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

function caOf({ trustedCA }: ProxySpec, objects: readonly WrittenObject[]): ProxyMaterial["ca"] {
  if (!trustedCA) return undefined;
  const { name } = trustedCA;
  const map = objects.find(({ object }) => object["kind"] === "ConfigMap" && nameOf(object) === name);
  return map && { name: `ConfigMap "${name}"`, ...bundleTextOf(map.object) };
}

function find(objects: readonly WrittenObject[], kind: string): WrittenObject | undefined {
  return objects.find(({ object }) => object["kind"] === kind && nameOf(object) === "cluster");
}

function nameOf(object: Readonly<Record<string, unknown>>): string {
  const { metadata } = object;
  const name = isMapping(metadata) ? metadata["name"] : undefined;
  return typeof name === "string" ? name : "";
}
