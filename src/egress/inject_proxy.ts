import { isMapping } from "../config/mod.ts";
import type { ProxyStatus } from "./proxy_spec.ts";

/** The annotation that names the containers which get the proxy's variables. */
export const injectProxyAnnotation = "config.openshift.io/inject-proxy";

/** The annotation by which we remember where we have put variables, so that exactly those can be taken away. */
export const injectedAnnotation = "egress.postern/injected-into";

/** A workload with its variables as they have to be, or why it is left as it is. */
export interface ProxyInjection {
  /** The whole object; the one that was given where nothing changes. */
  readonly object: unknown;
  readonly isChanged: boolean;
  /** Why nothing was injected. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Deployments, DaemonSets and StatefulSets are alike in all that matters here. */
type Mapping = Readonly<Record<string, unknown>>;

/**
 * Puts HTTP_PROXY, HTTPS_PROXY and NO_PROXY into the containers that an annotation names, and takes them out of those
 * that we put them into before. A variable that is there is replaced; an empty one is left out.
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
      "which is no container of it";
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

/** The variables to set: none without a proxy, since a list alone says nothing. */
function variablesOf({ httpProxy, httpsProxy, noProxy }: ProxyStatus): Variable[] {
  const values = [httpProxy, httpsProxy, noProxy];
  return variableNames.flatMap((name, index) => {
    const value = values[index] ?? "";
    return value === "" ? [] : [{ name, value: unexpanded(value) }];
  });
}

/** Kubernetes expands `$(NAME)` in a value and reads `$$` as one dollar: a password may hold either. */
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

/** A container with exactly these of the three variables; the same one where it has them already. */
function withVariables(container: Mapping, variables: readonly Variable[]): Mapping {
  const written = container["env"];
  const env: readonly unknown[] = Array.isArray(written) ? written : [];
  const left = new Map(variables.map((variable) => [variable.name, variable]));
  const kept = env.flatMap((entry) => {
    const name = isMapping(entry) ? entry["name"] : undefined;
    if (typeof name !== "string" || !variableNames.includes(name)) return [entry];
    // The first of several takes the value, where it stands; the others go.
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

/** A comma list of names, trimmed, each once. */
function namesOf(value: unknown): string[] {
  if (typeof value !== "string") return [];
  return [...new Set(value.split(",").map((name) => name.trim()).filter((name) => name !== ""))];
}

function mappingAt(value: Mapping, ...keys: readonly string[]): Mapping | undefined {
  let at: unknown = value;
  for (const key of keys) at = isMapping(at) ? at[key] : undefined;
  return isMapping(at) ? at : undefined;
}
