// Imports the YAML library by name; loaded when a kubeconfig is written.
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  Scalar,
  stringify,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { isMapping } from "../../config/mod.ts";
import { counted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { mostAliases, yamlProblem } from "../api/kube_yaml.ts";
import type { Kubeconfig } from "./kubeconfig.ts";

/** The first line of a file that postern may replace. */
export const kubeconfigMark = "# Written by postern, and replaced by it: what you add here is lost.";

/** Quotes texts: Go's parser reads `no` and `1e3` as other types. */
const style = { lineWidth: 0, defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" } as const;

/** A kubeconfig as YAML; the text is deterministic. */
export function kubeconfigText(kubeconfig: Kubeconfig): string {
  return `${kubeconfigMark}\n${stringify(kubeconfig, { ...style, aliasDuplicateObjects: false })}`;
}

export interface MergeOptions {
  /** The path of the file, for messages. */
  readonly path: string;
  /** Whether to also replace entries with the same names that point elsewhere. */
  readonly force: boolean;
  /** Whether a later file sets the current context. */
  readonly hasCurrent: boolean;
}

/**
 * Merges a kubeconfig into another one and keeps its comments, other entries and current context. A context
 * of the same name keeps its user and namespace, unless the new one sets them.
 */
export function mergedKubeconfig(
  text: string,
  kubeconfig: Kubeconfig,
  { path, force, hasCurrent }: MergeOptions,
): string {
  const document = documentIn(text, path);
  if (document.contents === null) {
    const written = kubeconfigText(hasCurrent ? { ...kubeconfig, "current-context": "" } : kubeconfig);
    const isRemarks = text.trim() !== "" && text.split("\n").every((line) => /^\s*(?:#|$)/.test(line));
    return isRemarks ? `${text.trimEnd()}${written.slice(kubeconfigMark.length)}` : written;
  }
  if (!isMap(document.contents)) throw unusable(path, "it is not a mapping");
  if (!force) demandOwn(document, kubeconfig, path);
  for (const entry of kubeconfig.clusters) put(document, "clusters", entry.name, entry);
  for (const entry of kubeconfig.users) put(document, "users", entry.name, entry);
  for (const entry of kubeconfig.contexts) {
    const context = entryIn(document, "contexts", entry.name)?.get("context");
    // Other entries may share this node through its anchor, so replace it instead of changing it.
    if (isMap(context) && context.anchor === undefined) {
      for (const [key, value] of Object.entries(entry.context)) setText(context, key, value);
    } else {
      const { context: former } = valueIn(document, "contexts", entry.name);
      const kept = isMapping(former) ? former : {};
      put(document, "contexts", entry.name, { ...entry, context: { ...kept, ...entry.context } });
    }
  }
  if (!hasCurrent && !document.get("current-context")) {
    setText(document.contents, "current-context", kubeconfig["current-context"]);
  }
  return writtenText(document, path);
}

/** Throws if entries with the same names point elsewhere: they belong to the user or to another catalogue. */
function demandOwn(document: Document, { clusters, contexts, users }: Kubeconfig, path: string): void {
  const foreign = {
    cluster: clusters.filter(({ name, cluster }) =>
      isOther(valueIn(document, "clusters", name)["cluster"], "server", cluster.server)
    ),
    context: contexts.filter(({ name, context }) =>
      isOther(valueIn(document, "contexts", name)["context"], "cluster", context.cluster)
    ),
    // If the cluster matches too, this user comes from an earlier merge, perhaps with an older token.
    user: users.filter(({ name, user }) => {
      const there = valueIn(document, "users", name)["user"];
      return there !== undefined && !entryIn(document, "clusters", name) &&
        JSON.stringify(there) !== JSON.stringify(user);
    }),
  };
  const kinds = Object.entries(foreign).filter(([, entries]) => entries.length > 0);
  if (kinds.length === 0) return;
  const counts = kinds.map(([kind, entries]) => counted(entries.length, kind)).join(", ");
  const names = new Set(kinds.flatMap(([, entries]) => entries.map(({ name }) => name)));
  throw new PosternError(
    "not_allowed",
    `Cannot add to "${path}": it has different entries with the same name (${counts}): ${
      [...names].join(", ")
    }`,
    { hint: "add --force to replace these entries" },
  );
}

function isOther(there: unknown, key: string, wanted: string): boolean {
  const text = isMapping(there) ? there[key] : undefined;
  return typeof text === "string" && text !== wanted;
}

/**
 * Changes the current context; returns the new text and the former context. Undefined if neither this
 * kubeconfig nor `others` has the context.
 */
export function withCurrentContext(
  text: string,
  context: string,
  { path, others }: Pick<MergeOptions, "path"> & { readonly others: ReadonlySet<string> },
): { readonly text: string; readonly former: string | undefined } | undefined {
  const document = documentIn(text, path);
  if (!isMap(document.contents)) return undefined;
  if (!others.has(context) && !entryIn(document, "contexts", context)) return undefined;
  const former = currentIn(document);
  setText(document.contents, "current-context", context);
  return { text: writtenText(document, path), former };
}

/**
 * The names of a kubeconfig's contexts, and the current one. Ignores syntax errors, which kubectl reports.
 */
export function contextsIn(
  text: string,
): { readonly names: readonly string[]; readonly current: string | undefined } {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return { names: [], current: undefined };
  const names = entriesIn(document, "contexts")?.items.flatMap((item) => {
    const name = nameOf(item, document);
    return typeof name === "string" ? [name] : [];
  });
  return { names: names ?? [], current: currentIn(document) };
}

function currentIn(document: Document): string | undefined {
  const current = document.get("current-context");
  return typeof current === "string" && current !== "" ? current : undefined;
}

/** Whether a kubeconfig still contains the entries of another one that was merged into it. */
export function holdsKubeconfig(text: string, { clusters, contexts, users }: Kubeconfig): boolean {
  const document = parseDocument(text, reading);
  return clusters.every(({ name, cluster }) =>
    entryIn(document, "clusters", name)?.getIn(["cluster", "server"]) === cluster.server
  ) &&
    contexts.every(({ name }) => entryIn(document, "contexts", name)) &&
    users.every(({ name }) => entryIn(document, "users", name));
}

/** Sets a quoted text. Leaves an equal value as written, and always keeps its comment. */
function setText(map: YAMLMap, key: string, text: string): void {
  if (map.get(key) === text) return;
  const there = map.get(key, true);
  const scalar = isScalar(there) ? there : new Scalar(text);
  scalar.value = text;
  scalar.type = "QUOTE_DOUBLE";
  map.set(key, scalar);
}

function put(document: Document, list: string, name: string, entry: unknown): void {
  const node = document.createNode(entry, { aliasDuplicateObjects: false });
  visit(node, {
    Scalar(key, scalar) {
      if (key !== "key" && isScalar(scalar) && typeof scalar.value === "string") scalar.type = "QUOTE_DOUBLE";
    },
  });
  const entries = entriesIn(document, list);
  const at = entries?.items.findIndex((item) => nameOf(item, document) === name) ?? -1;
  if (!entries) document.set(list, document.createNode([node]));
  else if (at < 0) entries.add(node);
  else entries.set(at, node);
}

function entryIn(document: Document, list: string, name: string): YAMLMap | undefined {
  const found = entriesIn(document, list)?.items.find((item) => nameOf(item, document) === name);
  const entry = behind(found, document);
  return isMap(entry) ? entry : undefined;
}

/** The value of an entry with its aliases resolved; empty if the entry does not exist. */
function valueIn(document: Document, list: string, name: string): Readonly<Record<string, unknown>> {
  const value: unknown = entryIn(document, list, name)?.toJS(document);
  return isMapping(value) ? value : {};
}

/** The list under a key, even if it is empty; undefined if the value cannot hold entries. */
function entriesIn(document: Document, list: string): YAMLSeq | undefined {
  const entries = behind(document.get(list, true), document);
  if (!isSeq(entries)) return undefined;
  entries.flow = entries.flow === true && entries.items.length > 0;
  return entries;
}

function nameOf(item: unknown, document: Document): unknown {
  const entry = behind(item, document);
  return isMap(entry) ? entry.get("name") : undefined;
}

/** Resolves an alias; returns any other node unchanged. */
function behind(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}

/** Parses like Go's parser, which kubectl uses. */
const reading = { merge: true } as const;

function documentIn(text: string, path: string): Document {
  const document = parseDocument(text, reading);
  const [mistake] = document.errors;
  if (mistake) throw unusable(path, yamlProblem(mistake));
  try {
    document.toJS({ maxAliasCount: mostAliases });
    return document;
  } catch (error) {
    // An alias without an anchor, or far too many aliases.
    throw unusable(path, yamlProblem(error));
  }
}

function writtenText(document: Document, path: string): string {
  try {
    return document.toString({ lineWidth: 0 });
  } catch (error) {
    // The replaced node has an anchor that aliases refer to.
    throw unusable(path, yamlProblem(error));
  }
}

function unusable(path: string, why: string): PosternError {
  return new PosternError("config", `Cannot change "${path}": ${why}`, {
    hint: "correct it; to find the place, run: kubectl config view",
  });
}
