/** The result of one test. */
export interface TestOutcome {
  readonly name: string;
  readonly file: string;
  readonly state: "passed" | "failed" | "skipped";
  /** Why the test was skipped, if its name says so. */
  readonly reason?: string;
}

/**
 * The name of a test that is skipped on this machine. The name contains the reason, because a skipped test
 * has no other output, and a quiet run hides the output of a loading file.
 */
export function skippedName(name: string, reason: string): string {
  return `${name} [skipped: ${reason}]`;
}

/** Reads the tests, without their steps, from a JUnit report of `deno test --junit-path`. */
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

/**
 * Whether a name is a step of a test. File names may differ, because another file registers tests with peers.
 */
function isStep(name: string, names: ReadonlySet<string>): boolean {
  for (let at = name.indexOf(" > "); at >= 0; at = name.indexOf(" > ", at + 1)) {
    if (names.has(name.slice(0, at))) return true;
  }
  return false;
}

/** Reads a list of test names: one per line; `#` starts a comment line. */
export function readNames(list: string): string[] {
  return list.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** Returns a filter of `deno test` that selects exactly these tests. */
export function exactly(names: readonly string[]): string {
  return `/^(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})$/`;
}

/** Combines outcomes with those of repeated tests; returns the tests that passed when repeated. */
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
  /** Tests that cannot pass with this runtime; if one passes, the list is wrong and the run fails. */
  readonly cannotPass: readonly string[];
  /** The value of `deno test --filter`: a report marks filtered tests as skipped. */
  readonly filter?: string;
}

/** The summary of a run. */
export interface TestSummary {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly string[];
}

/** Compares outcomes with the expectations; a skip without a reason is always a failure. */
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
        failures.push(`${file}: ${name}: passes with this runtime: remove it from the list`);
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

/** `/x/` is a regular expression; any other filter is a part of the name. */
function isMeant(name: string, filter: string): boolean {
  const [, expression] = /^\/(.*)\/$/s.exec(filter) ?? [];
  return expression === undefined ? name.includes(filter) : new RegExp(expression).test(name);
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return value.replace(/&(lt|gt|quot|apos|amp);/g, (_whole, entity: string) => entities[entity] ?? "");
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
