import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { counted } from "../../core/mod.ts";
import type { SetupCheck, SetupPlan } from "../../setup/mod.ts";
import { defineCommand } from "../line/command.ts";
import { durationValue, outputOption, words } from "../line/options.ts";
import { confirmed } from "../output/confirmed.ts";
import { lineDiff } from "../output/line_diff.ts";
import { type Paint, paintFor } from "../output/paint.ts";
import { printable } from "../output/printable.ts";
import { printValue } from "../output/print_value.ts";

/** Timeouts of a check in ms: a user needs time to sign in. */
const [usualLimit, askingLimit] = [15_000, 120_000];

export default defineCommand({
  name: "setup",
  summary: "Write a configuration for this machine and test it",
  description:
    "Looks at kubeconfigs, the ssh configuration, proxies in the environment, and catalogues of kharon and commodore. " +
    "Connects to each ssh host, proxy, cluster and catalogue that the configuration does not have yet. Prints the " +
    "lines that work as a diff, each with its reason, and asks before it writes them. Existing lines stay as they " +
    "are; a second run proposes only what is new. Without a terminal, postern only prints the diff.",
  examples: [
    ["postern setup", "Propose a configuration and write it after you confirm"],
    ["postern setup --dry-run", "Print the diff"],
    ["postern setup --yes --config work.yaml", "Write to another file, without confirmation"],
    ["postern setup --yes -o json", "Print the results of the checks as JSON"],
  ],
  parser: object({
    yes: optional(option("--yes", { description: words("Write without confirmation.") })),
    dryRun: optional(option("--dry-run", { description: words("Print the diff and write nothing.") })),
    timeout: optional(option("--timeout", durationValue(), {
      description: words("Timeout for each check (default: 15s, or 2m on a terminal)."),
    })),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run({ yes = false, dryRun = false, timeout, output }, world, { signal, globals }) {
    const { applySetup, nextSteps, planSetup } = await import("../../setup/mod.ts");
    const { terminal } = world;
    const isTable = output === "table";
    const asks = terminal.isInput && terminal.isErrorOutput && isTable;
    const paint = paintFor(world, "err");
    const tell = (text: string) => terminal.err(`postern: ${printable(text)}\n`);
    const plan = await planSetup(world, {
      config: globals.config,
      asks,
      limit: timeout ?? (asks ? askingLimit : usualLimit),
      begin: (count) => tell(`trying ${counted(count, "new line")} …`),
      told: (check) => terminal.err(checkText(check, paint)),
      signal,
    });
    for (const note of plan.notes) await tell(`note: ${note}`);
    const { path, before, after } = plan;
    const isChanged = after !== before;
    if (isChanged && isTable) await terminal.out(diffText(plan, paintFor(world, "out")));
    const isAgreed = yes && !dryRun;
    if (isChanged && !isAgreed && !dryRun && asks) await confirmed(`Write ${path}?`, world, { signal });
    const written = isChanged && !dryRun && (isAgreed || asks) ? await applySetup(world, plan) : [];
    const steps = isChanged ? await nextSteps(world, plan, { config: globals.config, signal }) : [];
    if (!isTable) await printValue(world, valueOf(plan, { written, steps }), output);
    if (written.length > 0) await tell(`wrote ${written.join(", ")}`);
    else if (isChanged) await tell(`nothing written${dryRun ? "" : "; to write it, add --yes"}`);
    else await tell(nothingText(plan));
    if (isTable && written.length > 0) { for (const step of steps) await tell(`next: ${step}`); }
  },
});

function checkText({ kind, name, outcome, detail, hint }: SetupCheck, { green, red, dim }: Paint): string {
  const mark = outcome === "ok" ? green("ok      ") : red("failed  ");
  const line = `${mark}${printable(`${kind} ${name}: ${detail}`)}\n`;
  return hint === undefined ? line : `${line}        ${dim(printable(hint))}\n`;
}

function diffText({ path, isNew, before, after }: SetupPlan, { green, red }: Paint): string {
  const lines = changedLines({ before, after }).map((line) =>
    line.startsWith("+")
      ? green(printable(line))
      : line.startsWith("-")
      ? red(printable(line))
      : printable(line)
  );
  return [`--- ${isNew ? "/dev/null" : printable(path)}`, `+++ ${printable(path)}`, ...lines, ""].join("\n");
}

/** The difference without the line break at the end of both texts. */
function changedLines({ before, after }: Pick<SetupPlan, "before" | "after">): readonly string[] {
  const [old, now] = [before, after].map((text) => text.replace(/\n$/, "")) as [string, string];
  if (old !== "") return lineDiff(old, now);
  const lines = now === "" ? [] : now.split("\n");
  return lines.length === 0 ? [] : [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)];
}

function nothingText({ path, isNew, checks }: SetupPlan): string {
  const failed = checks.filter(({ outcome }) => outcome === "failed").length;
  if (failed > 0) {
    return `nothing to add to "${path}": ${counted(failed, "line")} left out, because the check failed`;
  }
  return isNew
    ? "found nothing to configure; to write a first configuration: postern config init"
    : `"${path}" is complete: found nothing new`;
}

function valueOf(
  { path, isNew, before, after, notes, checks, proposal }: SetupPlan,
  { written, steps }: { readonly written: readonly string[]; readonly steps: readonly string[] },
) {
  const { transports, routes, catalogues, fallback, listen } = proposal;
  return {
    path,
    isNew,
    diff: changedLines({ before, after }),
    transports: transports.map(({ kind, name, via, reason }) => ({ kind, name, via, reason })),
    routes: routes.map(({ to, via, reason, isGuess = false }) => ({ to, via, reason, isGuess })),
    default: fallback?.name,
    catalogues: catalogues.map(({ url, reason }) => ({ lieutenant: url.href, reason })),
    listen: listen?.address,
    checks,
    notes,
    written,
    next: steps,
  };
}
