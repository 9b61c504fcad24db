import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type Cluster, type Facts, type FactWarning, shownText } from "../clusters/mod.ts";
import { FactWarnings } from "./fact_warnings.ts";

/** The clusters of a list, with warnings about its unusable parts. */
export interface ReadClusters {
  readonly clusters: readonly Cluster[];
  readonly warnings: readonly FactWarning[];
  /** The ids of clusters with the fact `kharonIgnore`, which must not be listed. */
  readonly ignored: readonly string[];
}

/**
 * A Kubernetes name (RFC 1123) in upper or lower case, because ids become file names, contexts and arguments.
 */
const idForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/** Maximum nesting of facts; real facts are flat, and deeper values cannot be serialized safely. */
const deepest = 20;

/**
 * Reads the response of `GET /clusters`. Keeps only known fields, because fields such as `installURL` contain
 * tokens. Skips an invalid cluster or fact with a warning; throws `protocol` only if the response is not a
 * list.
 */
export function readClusters(value: unknown): ReadClusters {
  if (!Array.isArray(value)) {
    throw new PosternError("protocol", "Cannot read the clusters: the response is not a list");
  }
  const clusters = new Map<string, Cluster>();
  const warnings = new FactWarnings();
  const ignored: string[] = [];
  for (const [index, item] of value.entries()) {
    const warn = (cluster: string, message: string, fact?: string) =>
      warnings.add({ cluster, message, ...(fact !== undefined && { fact }) });
    const place = `number ${index + 1}`;
    if (!isMapping(item)) {
      warn(place, "ignored because it is not an object");
      continue;
    }
    const { id } = item;
    const tenant = printable(item["tenant"]);
    if (typeof id !== "string" || !idForm.test(id)) {
      warn(place, `ignored because its id must be a name, not ${shownText(id)}`);
      continue;
    }
    if (clusters.has(id)) {
      warn(id, "listed twice, so postern uses the first entry");
      continue;
    }
    const cluster: Cluster = {
      id,
      displayName: printable(item["displayName"]) ?? id,
      ...(tenant !== undefined && { tenant }),
      facts: readFacts(item["facts"], (message, fact) => warn(id, message, fact)),
      dynamicFacts: readFacts(item["dynamicFacts"], (message, fact) => warn(id, message, fact)),
    };
    if (isSet(cluster.facts["kharonIgnore"]) || isSet(cluster.dynamicFacts["kharonIgnore"])) ignored.push(id);
    else clusters.set(id, cluster);
  }
  return { clusters: [...clusters.values()], warnings: warnings.all, ignored };
}

function readFacts(value: unknown, warn: (message: string, fact?: string) => void): Facts {
  if (value === undefined || value === null) return {};
  if (!isMapping(value)) {
    warn("all facts ignored because the value is not an object");
    return {};
  }
  const names = Object.keys(value);
  const kept = names.filter((name) => {
    // This URL allows its holder to install a cluster.
    if (name.length === 10 && name.toLowerCase() === "installurl") return false;
    if (!isDeeper(value[name], deepest)) return true;
    warn("ignored because it is nested too deeply", shownName(name));
    return false;
  });
  // Reuse valid objects: every kubectl call may read thousands of clusters first.
  return kept.length === names.length ? value : Object.fromEntries(kept.map((name) => [name, value[name]]));
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/** Whether a flag, in any notation, means yes. */
function isSet(fact: unknown): boolean {
  if (typeof fact === "string") return !["", "false", "no", "0"].includes(fact.trim().toLowerCase());
  return Boolean(fact);
}

/** An untrusted text without terminal control characters; undefined for any other value. */
function printable(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim().slice(0, 200);
  return text === "" ? undefined : text;
}

function shownName(name: string): string {
  return /^[\w.-]{1,60}$/.test(name) ? name : shownText(name);
}
