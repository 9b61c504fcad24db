import { isMapping } from "../../config/mod.ts";
import type { KubeObject, ObjectKind, ObjectPlace } from "../../kube/mod.ts";
import type { Clock, Log } from "../../core/mod.ts";
import { isPosternError, PosternError, reasonOf } from "../../words/mod.ts";
import type { AutomaticSettings } from "../no_proxy/automatic_no_proxy.ts";
import { bundleKey, type CaCertificate } from "../ca_bundle.ts";
import { isWithoutProxy, type ProxySpec, type ProxyStatus } from "../proxy_spec.ts";
import { type Condition, conditionsOf, readConditions, sameConditions } from "./conditions.ts";
import type { FencedObjects } from "./fenced_objects.ts";
import { clusterName, fieldManager, kinds, managedBundle } from "./kinds.ts";
import type { Notes } from "./notes.ts";
import { uidOf, versionOf } from "./ownership.ts";
import { expectNoOther } from "./ownership_check.ts";
import { decideProxy, type ProxyDecision, type ProxyRefusal } from "./proxy_decision.ts";
import { type ProxyInputs, readProxyInputs } from "./proxy_inputs.ts";
import { type EndpointReport, ProxyReports } from "./proxy_report.ts";
import type { Outcome } from "./work_queue.ts";

/** Probes a spec's endpoints through its proxies with the given CA bundle. */
export type Probe = (
  spec: ProxySpec,
  bundle: string,
  options: { readonly signal: AbortSignal },
) => Promise<readonly EndpointReport[]>;

/** The values for consumers: an accepted proxy and its bundle. */
export interface Accepted {
  readonly status: ProxyStatus;
  /** Undefined before the first bundle exists. */
  readonly bundle: string | undefined;
}

export interface ProxyReconcilerParts {
  readonly objects: FencedObjects;
  readonly notes: Notes;
  readonly clock: Clock;
  readonly log: Log;
  readonly probe: Probe;
  /** The namespace of the report. */
  readonly namespace: string;
  readonly settings: AutomaticSettings;
  readonly system: readonly CaCertificate[];
  readonly takesOver: boolean;
  /** Called when a reconciliation ends with a verdict; gets the accepted values, changed or not. */
  readonly onAccepted: (accepted: Accepted) => Promise<void>;
}

type Waiting = { readonly signal: AbortSignal };

/**
 * Accepts a proxy and its bundle together or rejects both: checks, probes, writes the bundle, then the
 * status.
 */
export class ProxyReconciler {
  readonly #parts: ProxyReconcilerParts;
  readonly #reports: ProxyReports;
  /** The last successful probe; identical inputs are not probed again. */
  #probed: { readonly id: string; readonly endpoints: readonly EndpointReport[] } | undefined;
  /** Whether the kind stores `status.conditions`; unknown before the first write of conditions. */
  #keepsConditions: boolean | undefined;
  #bundle: string | undefined;
  #isAccepted: boolean | undefined;

  constructor(parts: ProxyReconcilerParts) {
    this.#parts = parts;
    this.#reports = new ProxyReports(parts.objects, parts.namespace);
  }

  /** Whether the last change was accepted; undefined before the first reconciliation. */
  get isAccepted(): boolean | undefined {
    return this.#isAccepted;
  }

  /** Reconciles once; throws `config` when another controller manages the proxy. */
  async reconcile(options: Waiting): Promise<Outcome> {
    const { clock, objects, settings, system, takesOver } = this.#parts;
    const read = (kind: ObjectKind, place: ObjectPlace) => objects.read(kind, place, options);
    const inputs = await readProxyInputs(read);
    if (!takesOver) await expectNoOther(inputs, read);
    const decision = await decideProxy(inputs, { ...settings, system, now: clock.date() });
    if (!decision.isSound) return await this.#refuse(inputs, decision, decision.refusals, [], options);
    const endpoints = await this.#ask(inputs.spec, decision.bundle, options);
    const failed = endpoints.filter(({ isReady }) => !isReady);
    if (endpoints.length > 0 && await this.#hasChanged(inputs, options)) return "again";
    if (failed.length > 0) {
      const refusals = failed.map(({ url, message }) => ({
        reason: "NotReady",
        message: `the readiness check of ${url} failed: ${message}`,
      }));
      await this.#refuse(inputs, decision, refusals, endpoints, options);
      return "again";
    }
    return await this.#accept(inputs, decision, endpoints, options);
  }

  async #ask(spec: ProxySpec, bundle: string, options: Waiting): Promise<readonly EndpointReport[]> {
    const { httpProxy, httpsProxy, readinessEndpoints = [] } = spec;
    if (isWithoutProxy(spec) || readinessEndpoints.length === 0) return [];
    const id = JSON.stringify([httpProxy, httpsProxy, readinessEndpoints, bundle]);
    if (this.#probed?.id === id) return this.#probed.endpoints;
    const endpoints = await this.#parts.probe(spec, bundle, options);
    this.#probed = endpoints.every(({ isReady }) => isReady) ? { id, endpoints } : undefined;
    return endpoints;
  }

  /** Whether the inputs changed during the probe. */
  async #hasChanged({ proxy, ca }: ProxyInputs, options: Waiting): Promise<boolean> {
    const { objects } = this.#parts;
    const now = await objects.read(kinds.proxy, { name: clusterName }, options);
    if (
      idOf(now) !== idOf(proxy) || now?.["spec"] === undefined || generationOf(now) !== generationOf(proxy)
    ) {
      return true;
    }
    if (!ca) return false;
    const map = await objects.read(kinds.configMap, ca.place, options);
    return idOf(map) !== idOf(ca.object) || (map && versionOf(map)) !== (ca.object && versionOf(ca.object));
  }

  async #accept(
    inputs: ProxyInputs,
    decision: ProxyDecision & { readonly isSound: true },
    endpoints: readonly EndpointReport[],
    options: Waiting,
  ): Promise<Outcome> {
    const { proxy, managed } = inputs;
    const before = await this.#reports.read(options);
    const conditions = this.#conditions(inputs, decision, [], before.conditions);
    const isBundleNew = textOf(managed) !== decision.bundle;
    const isStatusNew = proxy !== undefined && !isSameStatus(proxy, decision.status);
    // A dry run finds a rejected status before anything is written.
    if (proxy && ((isBundleNew && isStatusNew) || this.#keepsConditions === undefined)) {
      const tried = await this.#patchStatus(proxy, { ...decision.status, conditions }, true, options);
      if (tried !== "done") return tried;
    }
    if (isBundleNew) {
      const refusal = await this.#writeBundle(managed, decision.bundle, options);
      if (refusal === "again") return "again";
      if (refusal) {
        await this.#refuse(inputs, decision, [refusal], endpoints, options);
        return "again";
      }
    }
    const areConditionsNew = this.#keepsConditions === true && proxy !== undefined &&
      !sameConditions(conditions, shownConditions(proxy));
    if (proxy && (isStatusNew || areConditionsNew)) {
      const written = await this.#patchStatus(proxy, { ...decision.status, conditions }, false, options);
      if (written !== "done") return written;
    }
    this.#isAccepted = true;
    this.#bundle = decision.bundle;
    await this.#parts.onAccepted({ status: decision.status, bundle: decision.bundle });
    return await this.#report({ conditions, endpoints }, before, options);
  }

  /** Reports why the change was rejected. The last accepted values stay active, also for new targets. */
  async #refuse(
    inputs: ProxyInputs,
    decision: ProxyDecision,
    refusals: readonly ProxyRefusal[],
    endpoints: readonly EndpointReport[],
    options: Waiting,
  ): Promise<Outcome> {
    const { proxy, managed } = inputs;
    this.#isAccepted = false;
    const before = await this.#reports.read(options);
    // If the merged bundle was deleted, restore the last accepted one instead of building one from rejected
    // inputs.
    const lost = managed === undefined ? this.#bundle : undefined;
    const unwritten = lost === undefined ? undefined : await this.#writeBundle(undefined, lost, options);
    if (unwritten === "again") return "again";
    const isTold = refusals.some(({ reason }) => reason === unwritten?.reason);
    const all = unwritten && !isTold ? [...refusals, unwritten] : refusals;
    const conditions = this.#conditions(inputs, decision, all, before.conditions);
    if (proxy && this.#keepsConditions === undefined) {
      const tried = await this.#patchStatus(proxy, { conditions }, true, options);
      if (tried !== "done") return tried;
    }
    if (proxy && this.#keepsConditions && !sameConditions(conditions, shownConditions(proxy))) {
      const written = await this.#patchStatus(proxy, { conditions }, false, options);
      if (written !== "done") return written;
    }
    await this.#parts.onAccepted({ status: proxyStatusOf(proxy), bundle: textOf(managed) ?? lost });
    const reported = await this.#report({ conditions, endpoints }, before, options);
    return unwritten ? "again" : reported;
  }

  #conditions(
    { proxy }: ProxyInputs,
    { warnings, excluded }: ProxyDecision,
    refusals: readonly ProxyRefusal[],
    before: readonly Condition[],
  ): Condition[] {
    const { clock, settings } = this.#parts;
    const verdict = {
      generation: generationOf(proxy),
      refusals,
      warnings,
      excluded: (settings.exclude ?? []).length > 0 ? excluded : undefined,
    };
    return conditionsOf(verdict, before, clock.date());
  }

  async #report(
    report: { readonly conditions: readonly Condition[]; readonly endpoints: readonly EndpointReport[] },
    before: Awaited<ReturnType<ProxyReports["read"]>>,
    { signal }: Waiting,
  ): Promise<Outcome> {
    const { clock, notes } = this.#parts;
    const accepted = report.conditions.find(({ type }) => type === "Accepted");
    const written = await this.#reports.write(report, before.data, { signal, now: clock.date() });
    const former = before.conditions.find(({ type }) => type === "Accepted");
    const isNews = former?.status !== accepted?.status || former?.message !== accepted?.message ||
      former?.observedGeneration !== accepted?.observedGeneration;
    if (!accepted || !isNews || written === "again") return written;
    const isGood = accepted.status === "True";
    notes.say(kinds.proxy, { name: clusterName }, {
      type: isGood ? "Normal" : "Warning",
      reason: isGood ? "ProxyAccepted" : "ProxyRefused",
      message: `Generation ${accepted.observedGeneration}: ${accepted.message}`,
    });
    return written;
  }

  /** Undefined after success; a refusal when a quick retry cannot help. */
  async #writeBundle(
    managed: KubeObject | undefined,
    text: string,
    options: Waiting,
  ): Promise<ProxyRefusal | "again" | undefined> {
    const { objects, takesOver } = this.#parts;
    const precondition = managed && { resourceVersion: versionOf(managed), uid: uidOf(managed) };
    const where = `ConfigMap ${managedBundle.namespace}/${managedBundle.name}`;
    try {
      const written = await objects.patch(kinds.configMap, {
        ...managedBundle,
        type: "apply",
        manager: fieldManager,
        force: takesOver,
        body: { metadata: { ...managedBundle, ...precondition }, data: { [bundleKey]: text } },
      }, options);
      if (written.outcome === "conflict") return "again";
      if (written.outcome === "written") return undefined;
      return { reason: "BundleNotWritten", message: `cannot write the ${where}: ${written.why}` };
    } catch (error) {
      if (isOutage(error) || !(error instanceof PosternError)) throw error;
      return { reason: "BundleNotWritten", message: `cannot write the ${where}: ${reasonOf(error)}` };
    }
  }

  async #patchStatus(
    proxy: KubeObject,
    status: KubeObject,
    isDryRun: boolean,
    options: Waiting,
  ): Promise<Outcome> {
    const { conditions, ...strings } = status;
    const isKept = this.#keepsConditions !== false;
    const written = await this.#parts.objects.patch(kinds.proxy, {
      name: clusterName,
      type: "merge",
      manager: fieldManager,
      subresource: "status",
      isDryRun,
      body: {
        metadata: { resourceVersion: versionOf(proxy), uid: uidOf(proxy) },
        status: { ...strings, ...(isKept && { conditions }) },
      },
    }, options);
    if (written.outcome !== "written") return "again";
    if (isKept) {
      const { status: kept } = written.object;
      this.#keepsConditions = isMapping(kept) && Array.isArray(kept["conditions"]);
    }
    return "done";
  }
}

function isOutage(error: unknown): boolean {
  return isPosternError(error, "unreachable") || isPosternError(error, "timeout");
}

/** The accepted values of a Proxy; empty texts when there are none. */
export function proxyStatusOf(proxy: KubeObject | undefined): ProxyStatus {
  const status = proxy?.["status"];
  const text = (key: string): string => {
    const value = isMapping(status) ? status[key] : undefined;
    return typeof value === "string" ? value : "";
  };
  return { httpProxy: text("httpProxy"), httpsProxy: text("httpsProxy"), noProxy: text("noProxy") };
}

function isSameStatus(proxy: KubeObject, wanted: ProxyStatus): boolean {
  const has = proxyStatusOf(proxy);
  return has.httpProxy === wanted.httpProxy && has.httpsProxy === wanted.httpsProxy &&
    has.noProxy === wanted.noProxy;
}

function shownConditions({ status }: KubeObject): Condition[] {
  return readConditions(isMapping(status) ? status["conditions"] : undefined);
}

function textOf(map: KubeObject | undefined): string | undefined {
  const data = map?.["data"];
  const text = isMapping(data) ? data[bundleKey] : undefined;
  return typeof text === "string" ? text : undefined;
}

function generationOf(object: KubeObject | undefined): number {
  const metadata = object?.["metadata"];
  const generation = isMapping(metadata) ? metadata["generation"] : undefined;
  return typeof generation === "number" ? generation : 0;
}

function idOf(object: KubeObject | undefined): string {
  return object ? uidOf(object) : "";
}
