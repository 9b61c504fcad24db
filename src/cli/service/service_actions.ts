import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { formatDuration } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { durationOrNever, outputOption, words } from "../line/options.ts";
import { printValue } from "../output/print_value.ts";
import { confirmed } from "../output/confirmed.ts";
import { printableLines } from "../output/printable.ts";
import { table } from "../output/table.ts";

const yes = option("--yes", { description: words("Skip the confirmation, for scripts.") });

export const installOptions = object({
  always: option("--always", {
    description: words(
      "Start the instance at login and restart it after a failure (default on macOS).",
    ),
  }),
  onDemand: option("--on-demand", {
    description: words(
      "Start the instance at the first connection and stop it when idle (default on Linux).",
    ),
  }),
  idleExit: optional(option("--idle-exit", durationOrNever(), {
    description: words(
      "Stop after this duration without a connection; 0 means never (default: 3m with --on-demand, else 0).",
    ),
  })),
  updateTimer: option("--update-timer", {
    description: words("Also fetch the catalogue once a day while the stored sign-in is valid."),
  }),
  print: option("--print", { description: words("Print the files instead of installing them.") }),
  yes,
});

export const uninstallOptions = object({ yes });

export const statusOptions = object({ output: outputOption(["table", "json", "yaml"], "table") });

export interface InstallValues {
  readonly always: boolean;
  readonly onDemand: boolean;
  readonly idleExit: number | undefined;
  readonly updateTimer: boolean;
  readonly print: boolean;
  readonly yes: boolean;
}

export async function install(
  values: InstallValues,
  world: World,
  { globals, signal, log }: RunContext,
): Promise<void> {
  const { always, onDemand, idleExit, updateTimer } = values;
  if (always && onDemand) {
    throw new PosternError(
      "usage",
      "Cannot use --always and --on-demand together",
      {
        hint: "omit one of the two",
      },
    );
  }
  const { installService, planService } = await import("../../service/mod.ts");
  const plan = await planService(world, {
    hasTimer: updateTimer,
    isPrinted: values.print,
    ...(always || onDemand ? { isAlways: always } : {}),
    ...(idleExit === undefined ? {} : { idleExit: idleExit === 0 ? "0" : formatDuration(idleExit) }),
    ...(globals.config === undefined ? {} : { config: globals.config }),
  });
  if (values.print) {
    const texts = plan.files.map(({ path, content }) => `# ${path}\n${content}`);
    return await world.terminal.out(texts.join("\n"));
  }
  const tell = teller(world);
  if (plan.problem) {
    if (!values.yes) throw plan.problem;
    await tell(`note: the service will not start until you fix this: ${plan.problem.message}`);
  }
  if (plan.kubeconfigs !== undefined) {
    await tell(
      `note: the service always uses the current KUBECONFIG: ${plan.kubeconfigs}; to change it, install again`,
    );
  }
  const changes = [
    ...plan.files.filter(({ state }) => state !== "same").map(({ path, state }) =>
      `${state === "new" ? "writes" : "replaces"} ${path}`
    ),
    ...plan.removed.map((path) => `removes ${path}`),
    ...[...plan.before, ...plan.after].map((command) => `runs ${command.join(" ")}`),
  ];
  await confirm(
    changes,
    { isAgreed: values.yes || changes.every((line) => line.startsWith("runs ")) },
    world,
    {
      signal,
    },
  );
  await installService(world, plan, { signal, tell });
  const where = plan.addresses.join(" and ");
  await tell(
    plan.isAlways
      ? `the instance listens on ${where}; show it with: postern status`
      : `the first connection to ${where} starts the instance; show the service with: postern service status`,
  );
  log.debug("service.installed", { files: plan.files.length });
}

export async function uninstall(
  { yes }: { readonly yes: boolean },
  world: World,
  { signal }: RunContext,
): Promise<void> {
  const { planRemoval, removeService } = await import("../../service/mod.ts");
  const plan = await planRemoval(world);
  const tell = teller(world);
  if (plan.removed.length === 0) return await tell("no service is installed");
  const changes = [
    ...[...plan.before, ...plan.after].map((command) => `runs ${command.join(" ")}`),
    ...plan.removed.map((path) => `removes ${path}`),
  ];
  await confirm(changes, { isAgreed: yes }, world, { signal });
  await removeService(world, plan, { signal, tell });
}

/** `postern service status`; the exit code is 3 when no service is installed. */
export async function status(
  { output }: { readonly output: "table" | "json" | "yaml" },
  world: World,
  { signal }: RunContext,
): Promise<number> {
  const { serviceStates } = await import("../../service/mod.ts");
  const states = await serviceStates(world, { signal });
  if (output !== "table") await printValue(world, states, output);
  else if (states.length === 0) {
    await teller(world)("no service is installed; install it with: postern service install");
  } else {
    await world.terminal.out(table(states, [
      { title: "NAME", show: ({ name }) => name },
      { title: "ENABLED", show: ({ enabled }) => enabled },
      { title: "ACTIVE", show: ({ active }) => active },
      { title: "FILE", show: ({ path }) => path },
    ]));
  }
  return states.length === 0 ? 3 : 0;
}

/** Prints the changes and asks for confirmation unless the user agreed already; throws on no. */
async function confirm(
  changes: readonly string[],
  { isAgreed }: { readonly isAgreed: boolean },
  { terminal }: World,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  if (isAgreed) return;
  await terminal.err(changes.map((line) => `postern: ${printableLines(line)}\n`).join(""));
  await confirmed("Apply these changes?", { terminal }, { signal });
}

function teller({ terminal }: World): (step: string) => Promise<void> {
  return (step) => terminal.err(`postern: ${printableLines(step)}\n`);
}
