import type { KubeApi, KubeRequest } from "../../kube/mod.ts";
import { type Clock, Counter, Histogram, type Metric } from "../../core/mod.ts";

type Verb = "list" | "watch" | "delete";

export interface LeaseMetricsOptions {
  readonly clock: Clock;
  readonly prefix: string;
  /** How upstream's program calls the label of a status. */
  readonly label: "http_status_code" | "http_response_code";
  /** What each verb is counted as, and what its duration is called where that is told. */
  readonly verbs: Partial<Record<Verb, { readonly total: string; readonly latency?: string }>>;
}

/** What an API is asked about Leases: as a part of it that counts, under upstream's names. */
export class LeaseMetrics {
  readonly #clock: Clock;
  readonly #verbs = new Map<Verb, { readonly total: Counter; readonly latency: Histogram | undefined }>();

  constructor({ clock, prefix, label, verbs }: LeaseMetricsOptions) {
    this.#clock = clock;
    for (const [verb, { total, latency }] of Object.entries(verbs)) {
      const about = `Answers to requests to ${verb} leases.`;
      this.#verbs.set(verb as Verb, {
        total: new Counter(`${prefix}${total}`, about, [label, "reason"]),
        latency: latency === undefined
          ? undefined
          : new Histogram(`${prefix}${latency}`, `How long a request to ${verb} leases took.`, bounds, [
            label,
          ]),
      });
    }
  }

  /** The API, with what is asked of Leases counted. */
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

/** The word that a `Status` gives as its reason. */
function reasonIn(text: string): string {
  return /"reason":\s*"(\w{1,60})"/.exec(text)?.[1] ?? "";
}

const bounds = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];
