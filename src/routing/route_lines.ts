import { parsePattern } from "./pattern.ts";
import type { Rule } from "./rule.ts";

/** The rules of a long list, and the problems of its other lines. */
export interface RouteLines {
  readonly rules: readonly Rule[];
  readonly problems: readonly LineProblem[];
}

/** A problem of one line, counted from 1. */
export interface LineProblem {
  readonly line: number;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/**
 * Parses `PATTERN TRANSPORT` lines (`routesFrom`). `#` starts a comment, blank lines are ignored, and
 * `direct` is a transport like any other. `name` becomes the rules' source, `path` locates the file.
 */
export function parseRouteLines(
  text: string,
  { name, path = name }: { name: string; path?: string },
): RouteLines {
  const rules: Rule[] = [];
  const problems: LineProblem[] = [];
  let line = 0;
  for (const whole of text.replace(/^\uFEFF/, "").split("\n")) {
    line++;
    const comment = whole.indexOf("#");
    const content = (comment < 0 ? whole : whole.slice(0, comment)).trim();
    if (content === "") continue;
    const report = (message: string, severity: LineProblem["severity"] = "error") =>
      void problems.push({ line, message, severity });
    const [pattern = "", transport, ...more] = content.split(/\s+/);
    if (transport === undefined || more.length > 0) {
      report(`must be a pattern and a transport: current value is ${JSON.stringify(content.slice(0, 200))}`);
      continue;
    }
    const parsed = parsePattern(unquoted(pattern));
    if ("problem" in parsed) {
      report(parsed.problem);
      continue;
    }
    if (parsed.warning !== undefined) report(`${pattern} ${parsed.warning}`, "warning");
    rules.push({
      text: pattern,
      pattern: parsed.pattern,
      transport,
      source: `${name}:${line}`,
      place: `${path}:${line}`,
      tier: "routes",
    });
  }
  return { rules, problems };
}

/** Removes quotes: lines pasted from YAML often have them. */
function unquoted(text: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(text) ? text.slice(1, -1) : text;
}
