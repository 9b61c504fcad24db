/** How one test ended. */
export interface TestOutcome {
  readonly name: string;
  readonly file: string;
  readonly state: "passed" | "failed" | "skipped";
  /** Why a test was left out, where it says so. */
  readonly reason?: string;
}

/**
 * The name of a test that does not run here. The reason travels in the name, since a test that is left out can say
 * nothing else: what a file prints while it loads does not reach a quiet run.
 */
export function skippedName(name: string, reason: string): string {
  return `${name} [skipped: ${reason}]`;
}

/** The tests of a JUnit report as `deno test --junit-path` writes it, without their steps. */
export function readOutcomes(report: string): TestOutcome[] {
  const outcomes: TestOutcome[] = [];
  for (
    const [, attributes = "", body = ""] of report.matchAll(/<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)
  ) {
    const [, name = "", reason] = /^(.*?)(?: \[skipped: (.*)\])?$/s.exec(attribute(attributes, "name")) ?? [];
    const file = attribute(attributes, "classname");
    const state = /<(failure|error)\b/.test(body) ? "failed" : /<skipped\b/.test(body) ? "skipped" : "passed";
    outcomes.push({ name, file, state, ...(reason !== undefined && { reason }) });
  }
  const names = new Set(outcomes.map(({ name }) => name));
  return outcomes.filter(({ name }) => !isStep(name, names));
}

/** Whether it is a part of a test. Their files may differ: tests with peers are registered by one of their own. */
function isStep(name: string, names: ReadonlySet<string>): boolean {
  for (let at = name.indexOf(" > "); at >= 0; at = name.indexOf(" > ", at + 1)) {
    if (names.has(name.slice(0, at))) return true;
  }
  return false;
}

/** The names in a list of tests: one a line, `#` begins a comment line. */
export function readNames(list: string): string[] {
  return list.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** A filter of `deno test` that leaves just these tests. */
export function exactly(names: readonly string[]): string {
  return `/^(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})$/`;
}

/** What holds after failed tests were run once more, and which of them passed then. */
export function settle(
  first: readonly TestOutcome[],
  second: readonly TestOutcome[],
): { outcomes: TestOutcome[]; recovered: string[] } {
  const recovered: string[] = [];
  const outcomes = first.map((outcome) => {
    if (outcome.state !== "failed") return outcome;
    const later = second.filter(({ name, file }) => name === outcome.name && file === outcome.file);
    if (later.length !== 1 || later[0]?.state !== "passed") return outcome;
    recovered.push(outcome.name);
    return { ...outcome, state: "passed" as const };
  });
  return { outcomes, recovered };
}

export interface Expectations {
  /** A missing peer is a failure, as in CI. */
  readonly mustRunAll: boolean;
  /** Tests that cannot pass with the runtime at hand; one that passes all the same is a failure of the list. */
  readonly cannotPass: readonly string[];
  /** What was asked for, as `deno test --filter` has it: a report tells of the tests it left out as of skipped ones. */
  readonly filter?: string;
}

/** What a run amounts to. */
export interface TestSummary {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly string[];
}

/** Counts outcomes against what was expected; a skip without a reason is always a failure. */
export function summarize(
  outcomes: readonly TestOutcome[],
  expected: Expectations,
): TestSummary {
  const failures: string[] = [];
  const skipped: string[] = [];
  let passed = 0;
  for (const { name, file, state, reason } of outcomes) {
    const whole = reason === undefined ? name : skippedName(name, reason);
    if (expected.filter !== undefined && !isMeant(whole, expected.filter)) continue;
    if (expected.cannotPass.includes(name)) {
      if (state === "passed") {
        failures.push(`${file}: ${name}: passes with this runtime: take it off the list`);
      } else skipped.push(`${name}: needs a newer runtime`);
    } else if (state === "passed") passed++;
    else if (state === "failed") failures.push(`${file}: ${name}`);
    else if (reason === undefined) failures.push(`${file}: ${name}: skipped without a reason`);
    else if (expected.mustRunAll && !reason.startsWith("only on ")) {
      failures.push(`${name}: skipped: ${reason}`);
    } else skipped.push(`${name}: ${reason}`);
  }
  return { passed, failures, skipped };
}

/** `/x/` is an expression, everything else a part of the name. */
function isMeant(name: string, filter: string): boolean {
  const [, expression] = /^\/(.*)\/$/s.exec(filter) ?? [];
  return expression === undefined ? name.includes(filter) : new RegExp(expression).test(name);
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return value.replace(/&(lt|gt|quot|apos|amp);/g, (_whole, entity: string) => entities[entity] ?? "");
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
