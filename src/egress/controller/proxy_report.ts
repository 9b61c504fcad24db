import type { KubeObject } from "../../kube/mod.ts";
import { isMapping } from "../../config/mod.ts";
import { jsonIn } from "../../core/mod.ts";
import { type Condition, readConditions } from "./conditions.ts";
import type { FencedObjects } from "./fenced_objects.ts";
import { fieldManager, kinds, statusName } from "./kinds.ts";
import type { Outcome } from "./work_queue.ts";

/** The result of probing one endpoint through the proxy. */
export interface EndpointReport {
  /** The URL without its password. */
  readonly url: string;
  readonly isReady: boolean;
  readonly attempts: number;
  /** The last status code and the final URL after redirects, or the error. */
  readonly message: string;
}

/** The content of the ConfigMap `postern-egress-status`. */
export interface ProxyReport {
  readonly conditions: readonly Condition[];
  readonly endpoints: readonly EndpointReport[];
}

/** Reads and writes the report about the last change; writes only changed content. */
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

  /** Writes a changed report; returns "again" when another client wrote first. */
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
  // `probed` belongs to these results: an identical probe changes nothing.
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
  // Overwrite a report that a user has edited.
  return typeof text === "string" ? jsonIn(text) : undefined;
}
