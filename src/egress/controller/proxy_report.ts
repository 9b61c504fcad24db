import type { KubeObject } from "../../kube/mod.ts";
import { isMapping } from "../../config/mod.ts";
import { jsonIn } from "../../core/mod.ts";
import { type Condition, readConditions } from "./conditions.ts";
import type { FencedObjects } from "./fenced_objects.ts";
import { fieldManager, kinds, statusName } from "./kinds.ts";
import type { Outcome } from "./work_queue.ts";

/** What came of asking one endpoint through the proxy. */
export interface EndpointReport {
  /** Without a password. */
  readonly url: string;
  readonly isReady: boolean;
  readonly attempts: number;
  /** The last code, and where it came from after redirects; or why none came. */
  readonly message: string;
}

/** What the ConfigMap `postern-egress-status` says. */
export interface ProxyReport {
  readonly conditions: readonly Condition[];
  readonly endpoints: readonly EndpointReport[];
}

/** Reads and writes what became of the last change; it is written only when it says something else. */
export class ProxyReports {
  readonly #objects: FencedObjects;
  readonly #namespace: string;

  constructor(objects: FencedObjects, namespace: string) {
    this.#objects = objects;
    this.#namespace = namespace;
  }

  async read(
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly conditions: readonly Condition[]; readonly data: KubeObject }> {
    const place = { namespace: this.#namespace, name: statusName };
    const object = await this.#objects.read(kinds.configMap, place, options);
    const data = object?.["data"];
    if (!isMapping(data)) return { conditions: [], data: {} };
    return { conditions: readConditions(valueOf(data["conditions"])), data };
  }

  /** Writes it where it says something else; "again" where somebody else was quicker. */
  async write(
    report: ProxyReport,
    before: KubeObject,
    { signal, now }: { readonly signal: AbortSignal; readonly now: Date },
  ): Promise<Outcome> {
    const data = dataOf(report, before, now);
    if (Object.entries(data).every(([key, text]) => before[key] === text)) return "done";
    const { outcome } = await this.#objects.patch(kinds.configMap, {
      namespace: this.#namespace,
      name: statusName,
      type: "apply",
      manager: fieldManager,
      force: true,
      body: { metadata: { namespace: this.#namespace, name: statusName }, data },
    }, { signal });
    return outcome === "conflict" ? "again" : "done";
  }
}

function dataOf(
  { conditions, endpoints }: ProxyReport,
  before: KubeObject,
  now: Date,
): Record<string, string> {
  const accepted = conditions.find(({ type }) => type === "Accepted");
  // When they were asked last is told of the answers that stand here: asking again for the same writes nothing.
  const said = pretty(endpoints);
  const former = before["endpoints"] === said ? before["probed"] : undefined;
  const at = now.toISOString().replace(/\.\d+Z$/, "Z");
  return {
    accepted: accepted?.status ?? "False",
    reason: accepted?.reason ?? "",
    message: accepted?.message ?? "",
    observedGeneration: String(accepted?.observedGeneration ?? 0),
    conditions: pretty(conditions),
    endpoints: said,
    probed: endpoints.length === 0 ? "" : typeof former === "string" ? former : at,
  };
}

function pretty(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function valueOf(text: unknown): unknown {
  // What somebody has edited is written anew.
  return typeof text === "string" ? jsonIn(text) : undefined;
}
