import { merge, object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { World } from "../../world/mod.ts";
import { clusterName, openPrograms, readClusters, tellNotes, trustOption } from "./cluster_options.ts";
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
  "The exit code is that of the program; 125 is a failure of postern before it starts, 126 a program that cannot be " +
  "run, 127 one that is missing. Where no door runs, one is opened for as long as the program runs; it asks nobody " +
  "for passphrases.";

const target = object({
  name: clusterName,
  trustsFirstUse: trustOption,
  id: instanceOption("The door to use (default: default)."),
});

/** `postern kubectl`. */
export const kubectl: ClusterCommand = wrapped("kubectl", ["get namespaces", "exec -it pod/web -- sh"]);

/** `postern oc`. */
export const oc: ClusterCommand = wrapped("oc", ["whoami", "get clusterversion"]);

/** `postern shell`. */
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
    summary: `runs ${program} in a cluster`,
    description:
      `All that stands behind is given to ${program} as it is. It has a kubeconfig of its own, which names that ` +
      `cluster only and is gone afterwards. ${exitCodes}`,
    examples: [[first, `what ${program} prints, and its exit code`], [second, "options are not looked at"]],
    parser: merge(target, object({ args: programWords(`What ${program} is given.`) })),
    handlesSignals: true,
    run: ({ args, ...where }, world, context) => runIn(world, [program, ...args], where, context),
  }));
}

function shellNamed(name: string, form: string): Command {
  const examples: readonly Example[] = [
    [`postern ${form.replace("NAME", "c-lab")}`, "an interactive shell: leave it with exit"],
    [`postern ${form.replace("NAME", "c-lab")} -- helm list`, "one command"],
    [`postern ${form.replace("NAME", "c-lab")} -- -c 'kubectl get ns | wc -l'`, "arguments for your shell"],
  ];
  return wrapping(defineCommand({
    name,
    summary: "opens a shell that works in a cluster, or runs one command there",
    description:
      "KUBECONFIG names a kubeconfig of that cluster only, gone when the shell ends; POSTERN_CLUSTER is the cluster's " +
      `name; the proxy variables lead to the door. ${exitCodes}`,
    examples,
    parser: merge(
      target,
      object({ args: programWords("A command behind --; what begins with - is given to your shell.") }),
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

/** `postern shell --each [PATTERN…] -- CMD…`, as kharon has it. */
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
  const fleet = await readClusters(world, context);
  const { findCluster } = await import("../../clusters/mod.ts");
  const known = findCluster(fleet.clusters, name);
  await using programs = await openPrograms(world, fleet, { context, id, trustsFirstUse, signal });
  const { variables, notes } = await programs.environment(known);
  await tellNotes(world, notes);
  signal.throwIfAborted();
  // From here on signals are the program's.
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
