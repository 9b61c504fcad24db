import type { KubeApi, KubeRequest } from "../../kube/mod.ts";
import { type Clock, Counter, Histogram, type Metric } from "../../core/mod.ts";

type Verb = "list" | "watch" | "delete";

export interface LeaseMetricsOptions {
  readonly clock: Clock;
  readonly prefix: string;
  /** The name of upstream's status label. */
  readonly label: "http_status_code" | "http_response_code";
  /** The counter of each verb, and its histogram if upstream has one. */
  readonly verbs: Partial<Record<Verb, { readonly total: string; readonly latency?: string }>>;
}

/** Counts API requests for Leases under upstream's metric names. */
export class LeaseMetrics {
  readonly #clock: Clock;
  readonly #verbs = new Map<Verb, { readonly total: Counter; readonly latency: Histogram | undefined }>();

  constructor({ clock, prefix, label, verbs }: LeaseMetricsOptions) {
    this.#clock = clock;
    for (const [verb, { total, latency }] of Object.entries(verbs)) {
      const about = `Responses to ${verb} requests for Leases.`;
      this.#verbs.set(verb as Verb, {
        total: new Counter(`${prefix}${total}`, about, [label, "reason"]),
        latency: latency === undefined ? undefined : new Histogram(
          `${prefix}${latency}`,
          `Duration of ${verb} requests for Leases, in seconds.`,
          bounds,
          [
            label,
          ],
        ),
      });
    }
  }

  /** Wraps the API and counts requests for Leases. */
  counting(api: KubeApi): Pick<KubeApi, "name" | "request" | "stream"> {
    return {
      name: api.name,
      request: async (request, options) => {
        const began = this.#clock.now();
        const answer = await api.request(request, options);
        const text = answer.status > 299 ? new TextDecoder().decode(answer.body) : "";
        this.#observe(request, answer.status, { text, began });
        return answer;
      },
      stream: async (request, options) => {
        const began = this.#clock.now();
        const answer = await api.stream(request, options);
        this.#observe(request, answer.status, { text: answer.text ?? "", began });
        return answer;
      },
    };
  }

  metrics(): Metric[] {
    return [...this.#verbs.values()].flatMap(({ total, latency }) => [
      total.metric(),
      ...latency ? [latency.metric()] : [],
    ]);
  }

  #observe(request: KubeRequest, status: number, { text, began }: { text: string; began: number }): void {
    const verb = verbOf(request);
    const counted = verb && this.#verbs.get(verb);
    if (!counted) return;
    const isFine = status < 300;
    counted.total.add(1, isFine ? "200" : String(status), isFine ? "" : reasonIn(text));
    counted.latency?.observe((this.#clock.now() - began) / 1000, isFine ? "200" : String(status));
  }
}

function verbOf({ method = "GET", path }: KubeRequest): Verb | undefined {
  if (method === "DELETE") return "delete";
  if (method !== "GET" || !/\/leases\?/.test(path)) return undefined;
  return /[?&]watch=1/.test(path) ? "watch" : "list";
}

/** The reason of a Kubernetes `Status`. */
function reasonIn(text: string): string {
  return /"reason":\s*"(\w{1,60})"/.exec(text)?.[1] ?? "";
}

const bounds = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];
