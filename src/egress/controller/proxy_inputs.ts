import { isMapping, parseDocument } from "../../config/mod.ts";
import type { KubeObject, ObjectKind, ObjectPlace } from "../../kube/mod.ts";
import { type ProxySpec, readProxySpec, type SpecProblem } from "../proxy_spec.ts";
import { clusterName, configNamespace, installConfig, kinds, managedBundle } from "./kinds.ts";

/** All inputs of an accepted proxy, read at the same time. */
export interface ProxyInputs {
  readonly proxy: KubeObject | undefined;
  readonly spec: ProxySpec;
  /** Fields of the spec with a wrong type. */
  readonly problems: readonly SpecProblem[];
  /** The ConfigMap that the spec names; `object` is undefined when it does not exist. */
  readonly ca: { readonly place: Required<ObjectPlace>; readonly object: KubeObject | undefined } | undefined;
  readonly infrastructure: KubeObject | undefined;
  readonly network: KubeObject | undefined;
  /** The parsed install-config; undefined when there is none. */
  readonly install: { readonly value: unknown } | { readonly problem: string } | undefined;
  readonly managed: KubeObject | undefined;
}

type Read = (kind: ObjectKind, place: ObjectPlace) => Promise<KubeObject | undefined>;

/** Reads all inputs again: the watches only report that something changed. */
export async function readProxyInputs(read: Read): Promise<ProxyInputs> {
  const [proxy, infrastructure, network, installMap, managed] = await Promise.all([
    read(kinds.proxy, { name: clusterName }),
    read(kinds.infrastructure, { name: clusterName }),
    read(kinds.network, { name: clusterName }),
    read(kinds.configMap, installConfig),
    read(kinds.configMap, managedBundle),
  ]);
  const { spec, problems } = readProxySpec(proxy?.["spec"]);
  const place = spec.trustedCA && trustedPlace(spec.trustedCA.name);
  const ca = place && { place, object: await read(kinds.configMap, place) };
  const install = installMap && await installOf(installMap);
  return { proxy, spec, problems, ca, infrastructure, network, install, managed };
}

/** The place of the CA's ConfigMap; the merged bundle's name means the merged bundle. */
function trustedPlace(name: string): Required<ObjectPlace> {
  return name === managedBundle.name ? managedBundle : { namespace: configNamespace, name };
}

async function installOf(
  map: KubeObject,
): Promise<{ readonly value: unknown } | { readonly problem: string } | undefined> {
  const { data } = map;
  const text = isMapping(data) ? data[installConfig.key] : undefined;
  if (typeof text !== "string") return undefined;
  const document = await parseDocument(text, { name: installConfig.key });
  const [problem] = document.problems;
  return problem ? { problem: problem.message } : { value: document.value };
}
