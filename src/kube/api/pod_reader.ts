import { type Clock, unlessAborted } from "../../core/mod.ts";
import { isPosternError, normalHost } from "../../words/mod.ts";
import type { PodRecord } from "./cluster_view.ts";
import type { KubeApi } from "./kube_api.ts";
import { podRecord } from "./kube_records.ts";
import { kubeValue } from "./kube_refusal.ts";
import { isMapping } from "../../config/mod.ts";

export interface PodReaderParts {
  readonly api: KubeApi;
  readonly clock: Clock;
}

/** How long an answer is reused, in ms. */
const fresh = 5_000;
const mostKept = 1_000;
/** More pods than this with one address are on the host network; the first ones are enough. */
const mostWithAddress = 100;

interface Kept {
  readonly at: number;
  readonly pods: Promise<readonly PodRecord[]>;
}

/** Reads single pods when a client dials them; pods are never watched. */
export class PodReader {
  readonly #parts: PodReaderParts;
  readonly #kept = new Map<string, Kept>();
  readonly #ended = new AbortController();

  constructor(parts: PodReaderParts) {
    this.#parts = parts;
  }

  async byName(
    namespace: string,
    name: string,
    { signal, isFresh = false }: { readonly signal: AbortSignal; readonly isFresh?: boolean },
  ): Promise<PodRecord | undefined> {
    const path = `${podsPath(namespace)}/${encodeURIComponent(name)}`;
    if (isFresh) this.#kept.delete(path);
    const [pod] = await this.#once(path, signal, async (signal) => {
      const { status, body } = await this.#parts.api.request({ path }, { signal });
      if (status === 404) return [];
      const pod = podRecord(this.#read(`read the pod ${namespace}/${name}`, status, body));
      return pod ? [pod] : [];
    });
    return pod;
  }

  /** The running pods with this address, in one namespace or (undefined) in all. */
  async byIp(
    ip: string,
    { namespace, signal }: { readonly namespace?: string; readonly signal: AbortSignal },
  ): Promise<readonly PodRecord[]> {
    const address = normalHost(ip);
    const query = new URLSearchParams({
      fieldSelector: `status.podIP=${address}`,
      limit: String(mostWithAddress),
    });
    const path = `${podsPath(namespace)}?${query}`;
    const where = namespace === undefined ? "in all namespaces" : `in the namespace "${namespace}"`;
    return await this.#once(path, signal, async (signal) => {
      const { status, body } = await this.#parts.api.request({ path }, { signal });
      const list = this.#read(`list pods ${where}`, status, body);
      const items = isMapping(list) && Array.isArray(list["items"]) ? list["items"] : [];
      return items.flatMap((item) => podRecord(item) ?? []).filter(isAlive);
    });
  }

  /** The same in each of several namespaces, for users who may not list pods in the whole cluster. */
  async byIpIn(
    ip: string,
    namespaces: readonly string[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<readonly PodRecord[]> {
    let failure: unknown;
    let isAllowed = false;
    for (const namespace of namespaces) {
      try {
        const pods = await this.byIp(ip, { namespace, signal });
        if (pods.length > 0) return pods;
        isAllowed = true;
      } catch (error) {
        if (!isPosternError(error, "not_allowed")) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined && !isAllowed) throw failure;
    return [];
  }

  forget(): void {
    this.#kept.clear();
  }

  dispose(): void {
    this.#ended.abort(new DOMException("The cluster was closed", "AbortError"));
  }

  /** Makes one request for all concurrent callers with the same key; does not keep a failure. */
  #once(
    key: string,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<readonly PodRecord[]>,
  ): Promise<readonly PodRecord[]> {
    const now = this.#parts.clock.now();
    const known = this.#kept.get(key);
    if (known && now - known.at < fresh) return unlessAborted(known.pods, signal);
    const pods = ask(this.#ended.signal);
    const kept = { at: now, pods };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    pods.catch(() => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    });
    return unlessAborted(pods, signal);
  }

  #read(what: string, status: number, body: Uint8Array<ArrayBuffer>): unknown {
    return kubeValue({ status, text: new TextDecoder().decode(body), what, cluster: this.#parts.api.name });
  }
}

function isAlive({ phase }: PodRecord): boolean {
  return phase !== "Succeeded" && phase !== "Failed";
}

function podsPath(namespace: string | undefined): string {
  return namespace === undefined
    ? "/api/v1/pods"
    : `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}
