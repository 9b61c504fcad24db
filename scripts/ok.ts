/** Runs what a person runs before a commit, or with `--all` everything, and prints how long each step took. */
if (import.meta.main) Deno.exit(await ok(Deno.args.includes("--all")));

interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

function steps(isAll: boolean): readonly Step[] {
  return [
    { name: "format", args: ["fmt", "--check"] },
    { name: "lint", args: ["lint"] },
    { name: "types", args: ["check", "."] },
    { name: "reference", args: ["task", "reference", "--check"] },
    { name: "tests", args: ["task", "test", ...(isAll ? [] : ["tests/unit", "tests/contract"])] },
    ...(isAll ? [{ name: "documents", args: ["task", "docs"] }] : []),
  ];
}

/** Every step runs, even after one that failed: a person wants all the news at once. */
async function ok(isAll: boolean): Promise<number> {
  const lines: string[] = [];
  let failed = 0;
  const start = performance.now();
  for (const { name, args } of steps(isAll)) {
    const before = performance.now();
    const { success } = await new Deno.Command(Deno.execPath(), { args: [...args] }).spawn().status;
    if (!success) failed++;
    lines.push(`${name.padEnd(10)} ${success ? "ok    " : "FAILED"} ${seconds(before)}`);
  }
  console.log(
    `\n${lines.join("\n")}\n${"all".padEnd(10)} ${failed === 0 ? "ok    " : "FAILED"} ${seconds(start)}`,
  );
  return failed === 0 ? 0 : 1;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1).padStart(6)} s`;
}
