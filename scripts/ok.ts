// Runs the checks before a commit, or all checks with `--all`, and prints the time of each step.

interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

const checks: readonly Step[] = [
  { name: "format", args: ["fmt", "--check"] },
  { name: "lint", args: ["lint"] },
  { name: "types", args: ["check", "--quiet", "."] },
  { name: "reference", args: ["task", "--quiet", "reference", "--check"] },
];

/** Tests that wait for other processes, so they run at the same time as tests that only compute. */
const waiting = ["unit/scripts", "unit/permissions", "unit/runtime", "contract"];

/** Returns rows of steps; the rows run at the same time. */
async function rows(isAll: boolean): Promise<readonly (readonly Step[])[]> {
  if (isAll) {
    const tests = { name: "tests", args: ["task", "--quiet", "test"] };
    return [[...checks, tests, { name: "documents", args: ["task", "--quiet", "docs"] }]];
  }
  const rooms = (await Array.fromAsync(Deno.readDir("tests/unit"))).map(({ name }) => `unit/${name}`);
  const test = (name: string, paths: readonly string[]) => ({
    name,
    args: ["task", "--quiet", "test", ...paths.toSorted().map((path) => `tests/${path}`)],
  });
  return [
    [...checks, test("contracts", waiting)],
    [test("rooms", rooms.filter((room) => !waiting.includes(room)))],
  ];
}

/** Runs every step, even after a failure, so that one run shows all problems. */
async function ok(isAll: boolean): Promise<number> {
  const start = performance.now();
  const all = await rows(isAll);
  const results = await Promise.all(all.map((row) => runRow(row, { isBeside: all.length > 1 })));
  const lines = results.flat();
  lines.push({ name: "all", isOk: lines.every(({ isOk }) => isOk), ms: performance.now() - start });
  for (const { name, isOk, ms } of lines) {
    console.log(`${name.padEnd(10)} ${isOk ? "ok    " : "FAILED"} ${(ms / 1000).toFixed(1).padStart(6)} s`);
  }
  return lines.every(({ isOk }) => isOk) ? 0 : 1;
}

interface Result {
  readonly name: string;
  readonly isOk: boolean;
  readonly ms: number;
}

async function runRow(
  steps: readonly Step[],
  { isBeside }: { readonly isBeside: boolean },
): Promise<Result[]> {
  // With two rows, print the output of each step as a whole.
  const stdout = isBeside ? "piped" : "inherit";
  const results: Result[] = [];
  for (const { name, args } of steps) {
    const start = performance.now();
    const output = await new Deno.Command(Deno.execPath(), { args: [...args], stdout, stderr: stdout })
      .output();
    if (isBeside) await print(output);
    results.push({ name, isOk: output.success, ms: performance.now() - start });
  }
  return results;
}

async function print({ stdout, stderr }: Deno.CommandOutput): Promise<void> {
  await new Blob([stdout, stderr]).stream().pipeTo(Deno.stdout.writable, { preventClose: true });
}

if (import.meta.main) {
  const unknown = Deno.args.filter((word) => word !== "--all");
  if (unknown.length > 0) {
    console.error("usage: deno task ok, or deno task ok:all");
    Deno.exit(2);
  }
  Deno.exit(await ok(Deno.args.includes("--all")));
}
