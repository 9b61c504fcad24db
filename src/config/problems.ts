import { counted } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { formatPath, type Position, type Problem } from "./context.ts";
import type { ConfigDocument } from "./document.ts";

/** One line per problem in the order of the file: `FILE:LINE:COLUMN: path: problem, hint`. */
export function formatProblems(problems: readonly Problem[], document: ConfigDocument): string[] {
  return problems
    .map((problem) => ({ problem, position: problem.position ?? document.locate(problem.path, problem.on) }))
    .sort((a, b) => byPosition(a.position, b.position))
    .map(({ problem, position }) => {
      const place = position ? `${document.name}:${position.line}:${position.column}` : document.name;
      const severity = problem.severity === "warning" ? "warning: " : "";
      const path = problem.path.length === 0 ? "" : `${formatPath(problem.path)}: `;
      return `${place}: ${severity}${path}${problem.message}`;
    });
}

/** Problems without a position come first: they concern the whole file. */
function byPosition(a: Position | undefined, b: Position | undefined): number {
  return (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0);
}

/** Whether a problem makes the configuration unusable. */
export function isError(problem: Problem): boolean {
  return problem.severity !== "warning";
}

/** One error with a line for each problem. */
export function configError(
  what: string,
  lines: readonly string[],
  { hint = "correct the file, then run postern config check" } = {},
): PosternError {
  const count = counted(lines.length, "problem");
  return new PosternError("config", [`Cannot use ${what}: ${count}`, ...lines].join("\n"), { hint });
}
