import { merge, object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { World } from "../../world/mod.ts";
import {
  clusterArgument,
  openPrograms,
  readKnownClusters,
  tellNotes,
  trustOption,
} from "./cluster_options.ts";
import { type Command, defineCommand, type Example, type RunContext } from "../line/command.ts";
import { eachCluster, isForEach } from "./each_cluster.ts";
import { instanceOption, words } from "../line/options.ts";
import { SignalGuard, wrapping } from "../line/wrapping.ts";

/** The two forms of one command: `postern kubectl NAME …`, and `postern clusters NAME kubectl …`. */
export interface ClusterCommand {
  readonly alone: Command;
  readonly ofCluster: Command;
}

const exitCodes =
  "postern exits with the program's exit code, or with 125 if postern itself fails, 126 if the program cannot be " +
  "run, and 127 if it is missing. Without a running instance, postern starts one until the program ends; that " +
  "instance does not prompt for passphrases.";

const target = object({
  name: clusterArgument,
  trustsFirstUse: trustOption,
  id: instanceOption("Instance to use (default: default)."),
});

export const kubectl: ClusterCommand = wrapped("kubectl", ["get namespaces", "exec -it pod/web -- sh"]);

export const oc: ClusterCommand = wrapped("oc", ["whoami", "get clusterversion"]);

export const shell: ClusterCommand = {
  alone: withEach(shellNamed("shell", "shell NAME")),
  ofCluster: shellNamed("clusters NAME shell", "clusters NAME shell"),
};

function wrapped(program: string, examples: readonly string[]): ClusterCommand {
  return {
    alone: programNamed(program, program, examples.map((args) => `postern ${program} c-lab ${args}`)),
    ofCluster: programNamed(
      `clusters NAME ${program}`,
      program,
      examples.map((args) => `postern clusters c-lab ${program} ${args}`),
    ),
  };
}

function programNamed(name: string, program: string, [first = "", second = ""]: readonly string[]): Command {
  return wrapping(defineCommand({
    name,
    summary: `Run ${program} in a cluster`,
    description:
      `Everything after NAME is passed to ${program} unchanged. ${program} gets a temporary kubeconfig that contains ` +
      `only this cluster. ${exitCodes}`,
    examples: [
      [first, `Print the output of ${program}, and exit with its code`],
      [second, "Pass options through unchanged"],
    ],
    parser: merge(target, object({ args: programWords(`Arguments for ${program}.`) })),
    handlesSignals: true,
    run: ({ args, ...where }, world, context) => runIn(world, [program, ...args], where, context),
  }));
}

function shellNamed(name: string, form: string): Command {
  const examples: readonly Example[] = [
    [`postern ${form.replace("NAME", "c-lab")}`, "Start an interactive shell; leave it with exit"],
    [`postern ${form.replace("NAME", "c-lab")} -- helm list`, "Run one command"],
    [
      `postern ${form.replace("NAME", "c-lab")} -- -c 'kubectl get ns | wc -l'`,
      "Pass arguments to your shell",
    ],
  ];
  return wrapping(defineCommand({
    name,
    summary: "Open a shell for a cluster, or run one command",
    description:
      "postern sets KUBECONFIG to a temporary kubeconfig of this cluster, POSTERN_CLUSTER to the cluster's name, and " +
      `the proxy variables to the instance. ${exitCodes}`,
    examples,
    parser: merge(
      target,
      object({
        args: programWords("A command after --; arguments that begin with - are passed to your shell."),
      }),
    ),
    handlesSignals: true,
    run: ({ args, ...where }, world, context) =>
      runIn(
        world,
        args[0]?.startsWith("-") === false ? args : [usualShell(world), ...args],
        where,
        context,
      ),
  }));
}

/** `postern shell --each [PATTERN…] -- CMD…`, as in kharon. */
function withEach(command: Command): Command {
  return {
    ...command,
    form: (args) => ({ command: isForEach(args, "shell") ? eachCluster("shell") : command, args }),
  };
}

async function runIn(
  world: World,
  command: readonly string[],
  { name, id, trustsFirstUse }: {
    readonly name: string;
    readonly id: string | undefined;
    readonly trustsFirstUse: boolean;
  },
  context: RunContext,
): Promise<number> {
  using guard = new SignalGuard(world);
  const { signal } = guard;
  const fleet = await readKnownClusters(world, context);
  const { findCluster } = await import("../../clusters/mod.ts");
  const known = findCluster(fleet.clusters, name);
  await using programs = await openPrograms(world, fleet, { context, id, trustsFirstUse, signal });
  const { variables, notes } = await programs.environment(known);
  await tellNotes(world, notes);
  signal.throwIfAborted();
  // The program handles signals while it runs.
  const { signal: never } = new AbortController();
  return await world.process.attached(command, { signal: never, env: variables });
}

function programWords(about: string) {
  return multiple(argument(string({ metavar: "ARGUMENT" }), { description: words(about) }));
}

function usualShell({ process }: World): string {
  const { platform } = process;
  return platform === "windows" ? process.env("COMSPEC") ?? "cmd.exe" : process.env("SHELL") || "/bin/sh";
}
