import { isMapping } from "../../config/mod.ts";
import { directoryOf, type Files } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { contextOf, type KubeContext } from "./kube_context.ts";

/** An entry of a list in a kubeconfig, and the directory that its relative paths start from. */
export interface KubeEntry {
  readonly value: Readonly<Record<string, unknown>>;
  readonly directory: string;
}

/** One kubeconfig, or several merged ones. */
export interface KubeConfig {
  /** In the order of the files. */
  readonly contextNames: readonly string[];
  readonly currentContext: string | undefined;
  /** Resolves a context with its cluster and user; throws `config` if one of them is invalid. */
  context(name: string): KubeContext;
}

/** Maximum size of a kubeconfig in bytes. */
const longest = 16 * 1024 * 1024;

type ListName = "contexts" | "clusters" | "users";
type Lists = Readonly<Record<ListName, Map<string, KubeEntry>>>;

/**
 * Reads kubeconfigs and merges them as kubectl does. Of entries with equal names the first wins. A missing
 * file counts as empty unless all are missing. Relative paths start from the directory of their file. Only
 * entries that are used are checked.
 */
export async function readKubeConfig(files: Files, paths: readonly string[]): Promise<KubeConfig> {
  const lists: Lists = { contexts: new Map(), clusters: new Map(), users: new Map() };
  const where = paths.map((path) => `"${path}"`).join(", ");
  let current: string | undefined;
  let isThere = false;
  for (const path of paths) {
    const text = paths.length === 1
      ? await files.readText(path, { limit: longest })
      : await files.readTextIfThere(path, { limit: longest });
    isThere ||= text !== undefined;
    const config = text === undefined ? {} : await mappingIn(text, path);
    current ??= nonEmpty(config["current-context"]);
    for (const list of ["contexts", "clusters", "users"] as const) {
      collect(lists[list], config[list], list, path);
    }
  }
  if (!isThere) {
    throw new PosternError("config", `Cannot read the kubeconfigs ${where}: none of them exists`, {
      hint: "correct KUBECONFIG, or name an existing file: --kubeconfig FILE",
    });
  }
  return {
    contextNames: [...lists.contexts.keys()],
    currentContext: current,
    context: (name) => contextOf(name, { lists, where }),
  };
}

/** The merged lists, and the file names for messages. */
export interface KubeLists {
  readonly lists: Lists;
  readonly where: string;
}

async function mappingIn(text: string, path: string): Promise<Readonly<Record<string, unknown>>> {
  const value = await parsed(text, path);
  if (value === null || value === undefined) return {};
  if (isMapping(value)) return value;
  throw unusable(path, "it is not a mapping");
}

async function parsed(text: string, path: string): Promise<unknown> {
  // Most kubeconfigs that programs write are JSON or small; the YAML parser is loaded only for the others.
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // A YAML flow mapping also begins with a brace.
    }
  }
  const { yamlValue } = await import("./kube_yaml.ts");
  const read = yamlValue(text);
  if ("problem" in read) throw unusable(path, read.problem);
  return read.value;
}

/** The key that holds the value of an entry in each list, next to `name`. */
const singular: Readonly<Record<ListName, string>> = {
  contexts: "context",
  clusters: "cluster",
  users: "user",
};

function collect(into: Map<string, KubeEntry>, list: unknown, name: ListName, path: string): void {
  if (list === null || list === undefined) return;
  if (!Array.isArray(list)) throw unusable(path, `its ${name} are not a list`);
  for (const entry of list) {
    // kubectl also ignores entries without a name, because no context can refer to them.
    if ((isMapping(entry) ? entry["name"] ?? null : entry) === null) continue;
    if (!isMapping(entry) || typeof entry["name"] !== "string") {
      throw unusable(path, `one of its ${name} has no name`);
    }
    const value = entry[singular[name]] ?? {};
    if (!isMapping(value)) throw unusable(path, `${singular[name]} of "${entry["name"]}" is not a mapping`);
    if (!into.has(entry["name"])) into.set(entry["name"], { value, directory: directoryOf(path) });
  }
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function unusable(path: string, why: string): PosternError {
  return new PosternError("config", `Cannot use the kubeconfig "${path}": ${why}`, {
    hint: "correct it; to find the place, run: kubectl config view --kubeconfig FILE",
  });
}
