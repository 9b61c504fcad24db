import type { Metric } from "../../core/mod.ts";
import { metricsText, metricsType } from "../../wire/mod.ts";
import { type PageRequest, type Pages, textPage } from "../../listeners/mod.ts";

/** One readiness condition, under upstream's name. */
export interface Check {
  readonly name: string;
  isSo(): boolean;
}

export interface HealthOptions {
  readonly checks: readonly Check[];
  /** The status when a check fails: 500 for upstream's server, 503 for its agent. */
  readonly notReady: number;
  metrics(): readonly Metric[];
}

/** The pages of the health port, like upstream's: `/healthz`, `/readyz`, `/ready` and `/metrics`. */
export function healthPages({ checks, notReady, metrics }: HealthOptions): Pages {
  return (request) => {
    const { path } = request;
    if (path === "/metrics") return Promise.resolve(metricsPage(metrics));
    if (path === "/healthz") return Promise.resolve(textPage("ok"));
    if (path === "/readyz" || path === "/ready") return Promise.resolve(readiness(request, checks, notReady));
    return Promise.resolve(textPage("Not found", 404));
  };
}

/** The admin port's only page: the metrics, or a redirect to them. */
export function adminPages(shown: (() => readonly Metric[]) | { readonly healthPort: number }): Pages {
  return ({ path, fields }) => {
    if (path !== "/metrics") return Promise.resolve(textPage("Not found", 404));
    if (typeof shown === "function") return Promise.resolve(metricsPage(shown));
    const [, name = "localhost"] = /^([\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?$/.exec(fields.get("host") ?? "") ??
      [];
    const page = textPage("Moved", 301);
    const location = `http://${name}:${shown.healthPort}/metrics`;
    return Promise.resolve({ ...page, fields: [...page.fields, ["Location", location]] });
  };
}

function metricsPage(metrics: () => readonly Metric[]): ReturnType<typeof textPage> {
  return { status: 200, fields: [["Content-Type", metricsType]], body: metricsText(metrics()) };
}

function readiness(
  { query }: PageRequest,
  checks: readonly Check[],
  notReady: number,
): ReturnType<typeof textPage> {
  const states = checks.map((check) => ({ name: check.name, isSo: check.isSo() }));
  const isReady = states.every(({ isSo }) => isSo);
  if (isReady && !query.has("verbose")) return textPage("ok");
  const lines = states.map(({ name, isSo }) => `[${isSo ? "+" : "-"}]${name} ${isSo ? "ok" : "failed"}`);
  return textPage(
    [...lines, isReady ? "readyz check passed" : "readyz check failed"].join("\n"),
    isReady ? 200 : notReady,
  );
}
