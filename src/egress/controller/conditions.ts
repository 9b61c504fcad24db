import { isMapping } from "../../config/mod.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

/** The result of a change to the proxy. */
export interface Verdict {
  readonly generation: number;
  /** Why the change was rejected; empty when it was accepted. */
  readonly refusals: readonly { readonly reason: string; readonly message: string }[];
  readonly warnings: readonly string[];
  /** Excluded automatic entries; undefined when the settings exclude none. */
  readonly excluded: readonly string[] | undefined;
}

/** Kubernetes allows 32 KiB; a shorter message is readable. */
const longest = 8_000;
const advice = "fix it with: kubectl edit proxy.config.openshift.io cluster";

/** The conditions of a verdict; an unchanged status keeps its transition time. */
export function conditionsOf(verdict: Verdict, before: readonly Condition[], now: Date): Condition[] {
  const { refusals, warnings, excluded, generation } = verdict;
  const [first] = refusals;
  const why = first
    ? [...refusals.map(({ message }) => message), advice].join("; ")
    : "The proxy and its CA bundle are accepted";
  const all: Omit<Condition, "lastTransitionTime" | "observedGeneration">[] = [
    {
      type: "Accepted",
      status: first ? "False" : "True",
      reason: first?.reason ?? "AsExpected",
      message: why,
    },
    {
      type: "Degraded",
      status: first ? "True" : "False",
      reason: first?.reason ?? "AsExpected",
      message: first ? `The last accepted proxy stays active: ${why}` : "",
    },
    {
      type: "Warned",
      status: warnings.length > 0 ? "True" : "False",
      reason: warnings.length > 0 ? "SeeMessage" : "AsExpected",
      message: warnings.join("; "),
    },
  ];
  if (excluded) {
    all.push({
      type: "EntriesExcluded",
      status: excluded.length > 0 ? "True" : "False",
      reason: excluded.length > 0 ? "Configured" : "NotInList",
      message: excluded.length > 0 ? `Excluded from the automatic no-proxy list: ${excluded.join(", ")}` : "",
    });
  }
  const at = now.toISOString().replace(/\.\d+Z$/, "Z");
  return all.map((condition) => {
    const former = before.find(({ type }) => type === condition.type);
    return {
      ...condition,
      message: condition.message.slice(0, longest),
      observedGeneration: generation,
      lastTransitionTime: former?.status === condition.status ? former.lastTransitionTime : at,
    };
  });
}

/** Reads the conditions of an object or of our ConfigMap; skips malformed ones. */
export function readConditions(value: unknown): Condition[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.flatMap((item) => isCondition(item) ? [item] : []);
}

/** Whether two lists hold the same conditions for the same generation. */
export function sameConditions(one: readonly Condition[], other: readonly Condition[]): boolean {
  const plain = (list: readonly Condition[]) =>
    list.map((item) => [
      item.type,
      item.status,
      item.observedGeneration,
      item.lastTransitionTime,
      item.reason,
      item.message,
    ]);
  return JSON.stringify(plain(one)) === JSON.stringify(plain(other));
}

function isCondition(value: unknown): value is Condition {
  return isMapping(value) && typeof value["type"] === "string" &&
    (value["status"] === "True" || value["status"] === "False") &&
    ["lastTransitionTime", "reason", "message"].every((key) => typeof value[key] === "string");
}
