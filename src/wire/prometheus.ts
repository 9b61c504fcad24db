import type { Metric } from "../core/mod.ts";

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Metrics in the Prometheus text format, version 0.0.4. */
export function metricsText(metrics: readonly Metric[]): string {
  return metrics.map(metricText).join("");
}

function metricText(metric: Metric): string {
  const { name, kind } = metric;
  const lines = [`# HELP ${name} ${escapedHelp(metric.help)}`, `# TYPE ${name} ${kind}`];
  if (metric.kind === "histogram") {
    for (const { labels, counts, sum } of metric.samples) {
      let count = 0;
      for (const [index, bound] of [...metric.bounds, Infinity].entries()) {
        count += counts[index] ?? 0;
        lines.push(`${name}_bucket${labelText({ ...labels, le: numberText(bound) })} ${count}`);
      }
      lines.push(
        `${name}_sum${labelText(labels)} ${numberText(sum)}`,
        `${name}_count${labelText(labels)} ${count}`,
      );
    }
  } else {
    for (const { labels, value } of metric.samples) {
      lines.push(`${name}${labelText(labels)} ${numberText(value)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapedLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  return String(value);
}

function escapedHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapedLabel(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"');
}
