import type { Metric } from "../../core/mod.ts";
import { metricsText, metricsType } from "../../wire/mod.ts";
import { type PageRequest, type Pages, textPage } from "../page.ts";

/** One thing that must be so for a program to be ready, by upstream's name. */
export interface Check {
  readonly name: string;
  isSo(): boolean;
}

export interface HealthOptions {
  readonly checks: readonly Check[];
  /** What is answered when one is not so: 500 of upstream's server, 503 of its agent. */
  readonly notReady: number;
  metrics(): readonly Metric[];
}

/** The pages of the health port, as upstream's programs have them: `/healthz`, `/readyz`, `/ready` and `/metrics`. */
export function healthPages({ checks, notReady, metrics }: HealthOptions): Pages {
  return (request) => {
    const { path } = request;
    if (path === "/metrics") {
      return Promise.resolve({
        status: 200,
        fields: [["Content-Type", metricsType]],
        body: metricsText(metrics()),
      });
    }
    if (path === "/healthz") return Promise.resolve(textPage("ok"));
    if (path === "/readyz" || path === "/ready") return Promise.resolve(readiness(request, checks, notReady));
    return Promise.resolve(textPage("Not found", 404));
  };
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
