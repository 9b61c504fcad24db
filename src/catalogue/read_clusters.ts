import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type Cluster, type Facts, type FactWarning, shownText } from "../clusters/mod.ts";
import { FactWarnings } from "./fact_warnings.ts";

/** The clusters of a list, and what of it could not be used. */
export interface ReadClusters {
  readonly clusters: readonly Cluster[];
  readonly warnings: readonly FactWarning[];
  /** The ids of those that ask not to be listed (`kharonIgnore`). */
  readonly ignored: readonly string[];
}

/** A name in Kubernetes (RFC 1123), in either case: ids become names of files, contexts and arguments. */
const idForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/** Nobody nests facts; what is deeper than this cannot be written down again safely. */
const deepest = 20;

/**
 * Reads what `GET /clusters` answers. Only what is known is taken over: `installURL` and the like hold tokens. What is
 * wrong with one cluster costs that cluster or fact; only something that is no list at all is `protocol`.
 */
export function readClusters(value: unknown): ReadClusters {
  if (!Array.isArray(value)) {
    throw new PosternError("protocol", "Cannot read the clusters: the answer is not a list");
  }
  const clusters = new Map<string, Cluster>();
  const warnings = new FactWarnings();
  const ignored: string[] = [];
  for (const [index, item] of value.entries()) {
    const warn = (cluster: string, message: string, fact?: string) =>
      warnings.add({ cluster, message, ...(fact !== undefined && { fact }) });
    const place = `number ${index + 1}`;
    if (!isMapping(item)) {
      warn(place, "is left out: it is not an object");
      continue;
    }
    const { id } = item;
    const tenant = printable(item["tenant"]);
    if (typeof id !== "string" || !idForm.test(id)) {
      warn(place, `is left out: its id must be a name, not ${shownText(id)}`);
      continue;
    }
    if (clusters.has(id)) {
      warn(id, "is there twice: the first one counts");
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
    warn("its facts are left out: they are not an object");
    return {};
  }
  const names = Object.keys(value);
  const kept = names.filter((name) => {
    // It lets whoever has it install a cluster.
    if (name.length === 10 && name.toLowerCase() === "installurl") return false;
    if (!isDeeper(value[name], deepest)) return true;
    warn("is left out: it is nested too deeply", shownName(name));
    return false;
  });
  // With thousands of clusters to be read before each kubectl, what is as it should be is not made anew.
  return kept.length === names.length ? value : Object.fromEntries(kept.map((name) => [name, value[name]]));
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/** Whether a flag that is written in any way means yes. */
function isSet(fact: unknown): boolean {
  if (typeof fact === "string") return !["", "false", "no", "0"].includes(fact.trim().toLowerCase());
  return Boolean(fact);
}

/** A text of somebody else's, without what could write over a terminal; undefined for anything else. */
function printable(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim().slice(0, 200);
  return text === "" ? undefined : text;
}

function shownName(name: string): string {
  return /^[\w.-]{1,60}$/.test(name) ? name : shownText(name);
}
