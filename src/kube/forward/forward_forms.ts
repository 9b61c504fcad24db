import type { Conn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { loadSpdy, type SpdySession } from "../../wire/mod.ts";
import {
  type KubeUpgrades,
  podName,
  type PodPort,
  type Upgrade,
  type UpgradeRequest,
} from "./forward_api.ts";
import { mayKnowOtherForm, upgradeFailure } from "./forward_failure.ts";
import { webSocketFields, webSocketProblem } from "./web_socket_upgrade.ts";

/** The protocols in which an API server carries port-forwards. */
export type ForwardForm =
  /** SPDY/3.1 inside WebSocket messages: many forwards over one connection. Since Kubernetes 1.30. */
  | "websocket"
  /** Plain SPDY/3.1: also many forwards, but some proxies do not pass it. */
  | "spdy"
  /** One WebSocket per forward, without half-close. */
  | "v4";

/** A connection in one of the forms. */
export interface OpenedForm {
  readonly form: ForwardForm;
  readonly conn: Conn;
  /** Set for the two SPDY forms. */
  readonly spdy: SpdySession;
}

/**
 * Finds the best form that an API server supports, and remembers refused ones for all pods. A form counts as
 * refused only after another form worked, so that an unreachable pod proves nothing.
 */
export class ForwardForms {
  readonly #api: KubeUpgrades;
  readonly #onRefused: (form: ForwardForm, taken: ForwardForm) => void;
  #first = 0;

  constructor(
    api: KubeUpgrades,
    { onRefused }: { onRefused: (form: ForwardForm, taken: ForwardForm) => void },
  ) {
    this.#api = api;
    this.#onRefused = onRefused;
  }

  /** The form for the next connection. */
  get current(): ForwardForm {
    return forms[this.#first] ?? "v4";
  }

  async open(target: PodPort, { signal }: { signal: AbortSignal }): Promise<OpenedForm> {
    const { SpdySession } = await loadSpdy();
    let refusal: PosternError | undefined;
    for (const [index, form] of forms.entries()) {
      if (index < this.#first) continue;
      const opened = await this.#tryForm(form, target, signal);
      if (opened instanceof PosternError) {
        // A missing right explains more than a refused last form.
        refusal = refusal?.code === "not_allowed" ? refusal : opened;
        continue;
      }
      if (refusal?.code !== "not_allowed" && index > this.#first) this.#remember(index);
      return { form, conn: opened, spdy: new SpdySession("client") };
    }
    throw refusal ?? new PosternError("internal", "No form of port-forward was tried");
  }

  #remember(taken: number): void {
    const refused = this.#first;
    this.#first = taken;
    for (const form of forms.slice(refused, taken)) this.#onRefused(form, forms[taken] ?? "v4");
  }

  /** Returns the connection, or the error if another form may work; throws any other error. */
  async #tryForm(form: ForwardForm, target: PodPort, signal: AbortSignal): Promise<Conn | PosternError> {
    const path = pathOf(target);
    if (form === "spdy") {
      const upgrade = await this.#ask({ method: "POST", path, fields: spdyFields }, signal);
      return this.#judge(upgrade, target, isSpdy(upgrade) ? undefined : "it did not switch to SPDY");
    }
    const protocol = form === "v4" ? v4Protocol : tunnelProtocol;
    const { fields, key } = webSocketFields(protocol);
    const query = form === "v4" ? `?ports=${target.port}` : "";
    const upgrade = await this.#ask({ path: `${path}${query}`, fields }, signal);
    return this.#judge(upgrade, target, await webSocketProblem(upgrade.fields, { key, protocol }));
  }

  /**
   * Sends an upgrade request. A server may hang up while a pod ends; no data was sent yet, so a second
   * request finds the reason.
   */
  async #ask(request: UpgradeRequest, signal: AbortSignal): Promise<Upgrade> {
    try {
      return await this.#api.upgrade(request, { signal });
    } catch (error) {
      if (signal.aborted || !(error instanceof PosternError && error.detail === "reset")) throw error;
      return await this.#api.upgrade(request, { signal });
    }
  }

  #judge(upgrade: Upgrade, target: PodPort, problem: string | undefined): Conn | PosternError {
    if (!upgrade.conn) {
      const failure = upgradeFailure(this.#api.name, target, upgrade);
      if (mayKnowOtherForm(upgrade)) return failure;
      throw failure;
    }
    if (problem === undefined) return upgrade.conn;
    upgrade.conn.abort();
    return new PosternError(
      "protocol",
      `Cannot forward to the pod "${podName(target)}" of ${this.#api.name}: ${problem}`,
    );
  }
}

function pathOf({ namespace, pod }: PodPort): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`;
}

function isSpdy({ fields }: Upgrade): boolean {
  return fields.tokens("Upgrade").includes("spdy/3.1");
}

const forms: readonly ForwardForm[] = ["websocket", "spdy", "v4"];
const tunnelProtocol = "SPDY/3.1+portforward.k8s.io";
const v4Protocol = "v4.channel.k8s.io";
const spdyFields = [
  ["Connection", "Upgrade"],
  ["Upgrade", "SPDY/3.1"],
  ["X-Stream-Protocol-Version", "portforward.k8s.io"],
  ["Content-Length", "0"],
] as const;
