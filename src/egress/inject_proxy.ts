import { isMapping, type Mapping } from "../config/mod.ts";
import type { ProxyStatus } from "./proxy_spec.ts";

/** The annotation that names the containers for the proxy's variables. */
export const injectProxyAnnotation = "config.openshift.io/inject-proxy";

/** The annotation that records the containers with our variables, so that we remove only those. */
export const injectedAnnotation = "egress.postern/injected-into";

/** A workload with the proxy's variables, or the reasons why it stays unchanged. */
export interface ProxyInjection {
  /** The whole object; the same one when nothing changes. */
  readonly object: unknown;
  readonly isChanged: boolean;
  /** Why nothing was injected. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Sets HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the annotated containers, and removes them from containers
 * that we changed earlier. Replaces existing variables and omits empty ones. Deployments, DaemonSets and
 * StatefulSets have the same structure here.
 */
export function injectProxy(workload: unknown, status: ProxyStatus): ProxyInjection {
  const unchanged = { object: workload, isChanged: false, problems: [], warnings: [] };
  if (!isMapping(workload)) return unchanged;
  const annotations = mappingAt(workload, "metadata", "annotations");
  const podSpec = mappingAt(workload, "spec", "template", "spec");
  const named = namesOf(annotations?.[injectProxyAnnotation]);
  const before = namesOf(annotations?.[injectedAnnotation]);
  if (!podSpec || (named.length === 0 && before.length === 0)) return unchanged;
  const variables = variablesOf(status);
  const unknown = unknownContainers(podSpec, named);
  if (unknown.length > 0) {
    const isOff = variables.length === 0;
    const message = `${injectProxyAnnotation} names ${
      unknown.map((name) => JSON.stringify(name)).join(", ")
    }, ` +
      "but the pod has no such container";
    if (!isOff) return { ...unchanged, problems: [message] };
    return { ...rewritten(workload, { podSpec, named: [], before, variables }), warnings: [message] };
  }
  return rewritten(workload, { podSpec, named: variables.length > 0 ? named : [], before, variables });
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

interface Wanted {
  readonly podSpec: Mapping;
  readonly named: readonly string[];
  readonly before: readonly string[];
  readonly variables: readonly Variable[];
}

const variableNames = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/** The variables to set, without empty ones; an accepted status without a proxy has only empty ones. */
function variablesOf({ httpProxy, httpsProxy, noProxy }: ProxyStatus): Variable[] {
  const values = [httpProxy, httpsProxy, noProxy];
  return variableNames.flatMap((name, index) => {
    const value = values[index] ?? "";
    return value === "" ? [] : [{ name, value: unexpanded(value) }];
  });
}

/**
 * Escapes dollars, which a password may contain: Kubernetes expands `$(NAME)` and reads `$$` as one dollar.
 */
function unexpanded(value: string): string {
  return /\$[$(]/.test(value) ? value.replaceAll("$", "$$$$") : value;
}

function rewritten(workload: Mapping, wanted: Wanted): ProxyInjection {
  const { podSpec, named, before, variables } = wanted;
  const lists = ["initContainers", "containers"].flatMap((key) => {
    const list = podSpec[key];
    if (!Array.isArray(list)) return [];
    const containers: readonly unknown[] = list;
    const changed = containers.map((container) => {
      const name = isMapping(container) ? container["name"] : undefined;
      if (!isMapping(container) || typeof name !== "string") return container;
      if (named.includes(name)) return withVariables(container, variables);
      return before.includes(name) ? withVariables(container, []) : container;
    });
    return changed.some((container, index) => container !== containers[index])
      ? [[key, changed] as const]
      : [];
  });
  const marked = named.join(",");
  const metadata = mappingAt(workload, "metadata") ?? {};
  const annotations = mappingAt(metadata, "annotations") ?? {};
  const isMarked = (annotations[injectedAnnotation] ?? "") === marked;
  if (lists.length === 0 && isMarked) {
    return { object: workload, isChanged: false, problems: [], warnings: [] };
  }
  const { [injectedAnnotation]: _former, ...others } = annotations;
  const spec = mappingAt(workload, "spec") ?? {};
  const template = mappingAt(spec, "template") ?? {};
  const object = {
    ...workload,
    metadata: {
      ...metadata,
      annotations: marked === "" ? others : { ...others, [injectedAnnotation]: marked },
    },
    spec: { ...spec, template: { ...template, spec: { ...podSpec, ...Object.fromEntries(lists) } } },
  };
  return { object, isChanged: true, problems: [], warnings: [] };
}

/** A container with exactly these of the three variables; the same object when nothing changes. */
function withVariables(container: Mapping, variables: readonly Variable[]): Mapping {
  const written = container["env"];
  const env: readonly unknown[] = Array.isArray(written) ? written : [];
  const left = new Map(variables.map((variable) => [variable.name, variable]));
  const kept = env.flatMap((entry) => {
    const name = isMapping(entry) ? entry["name"] : undefined;
    if (typeof name !== "string" || !variableNames.includes(name)) return [entry];
    // The first duplicate gets the value at its position; the others are removed.
    const variable = left.get(name);
    left.delete(name);
    if (!variable) return [];
    return isSame(entry, variable) ? [entry] : [variable];
  });
  const all = [...kept, ...left.values()];
  if (all.length === env.length && all.every((entry, index) => entry === env[index])) return container;
  const { env: _former, ...others } = container;
  return all.length === 0 ? others : { ...others, env: all };
}

function isSame(entry: unknown, { value }: Variable): boolean {
  return isMapping(entry) && entry["value"] === value && entry["valueFrom"] === undefined;
}

function unknownContainers(podSpec: Mapping, named: readonly string[]): string[] {
  const lists: unknown[] = [podSpec["containers"], podSpec["initContainers"]];
  const containers: readonly unknown[] = lists.flatMap((list) => Array.isArray(list) ? list : []);
  const there = containers.map((container) => isMapping(container) ? container["name"] : undefined);
  return named.filter((name) => !there.includes(name));
}

/** Reads a comma-separated list of names, trimmed and without duplicates. */
function namesOf(value: unknown): string[] {
  if (typeof value !== "string") return [];
  return [...new Set(value.split(",").map((name) => name.trim()).filter((name) => name !== ""))];
}

function mappingAt(value: Mapping, ...keys: readonly string[]): Mapping | undefined {
  let at: unknown = value;
  for (const key of keys) at = isMapping(at) ? at[key] : undefined;
  return isMapping(at) ? at : undefined;
}
