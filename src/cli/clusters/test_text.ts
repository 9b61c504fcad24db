import type { FleetTest, TestCounts } from "../../fleet/mod.ts";
import type { Paint } from "../output/paint.ts";
import { printable } from "../output/printable.ts";

const kinds: Readonly<Record<FleetTest["kind"], string>> = {
  jumphost: "jump host",
  api: "api",
  console: "console",
  oauth: "oauth",
};

/** A test as a line of text, with the error and hint of a failed test. */
export function testText(
  test: FleetTest,
  { width, paint: { green, red, dim } }: { readonly width: number; readonly paint: Paint },
): string {
  const name = printable(test.name).padEnd(width);
  const kind = kinds[test.kind].padEnd(9);
  if (test.outcome === "skipped") return dim(`skipped  ${name}  ${kind}  ${printable(test.reason)}`) + "\n";
  const state = test.outcome === "ok" ? green("ok     ") : red("FAILED ");
  const line = [state, name, kind, `${test.ms.toFixed(0).padStart(6)} ms`, printable(pathText(test))];
  return `${line.join("  ").trimEnd()}\n${moreOf(test, dim)}`;
}

/** `12 ok, 1 failed, 2 skipped`. */
export function countsText({ ok, failed, skipped }: TestCounts): string {
  return `${ok} ok, ${failed} failed, ${skipped} skipped`;
}

function pathText(test: Exclude<FleetTest, { readonly outcome: "skipped" }>): string {
  if (test.kind !== "jumphost") return test.url;
  return test.hops.map(({ host, ms }) => ms === undefined ? host : `${host} ${ms} ms`).join(" > ");
}

function moreOf(test: FleetTest, dim: Paint["dim"]): string {
  const error = "error" in test ? test.error : undefined;
  if (!error) return "";
  const indent = " ".repeat(9);
  const hint = error.hint === undefined ? "" : `${indent}${dim(printable(error.hint))}\n`;
  return `${indent}${printable(error.message)}\n${hint}`;
}
