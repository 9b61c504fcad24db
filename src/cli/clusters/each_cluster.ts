import { merge, object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import type { ClusterPrograms } from "../../programs/mod.ts";
import type { KnownCluster } from "../../clusters/mod.ts";
import { asPosternError, asUnstarted, describe, isPosternError, PosternError } from "../../words/mod.ts";
import { counted } from "../../core/mod.ts";
import { splitAtDashes } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  chosenClusters,
  clusterWords,
  openPrograms,
  readKnownClusters,
  tellNotes,
  trustOption,
} from "./cluster_options.ts";
import { type Command, defineCommand } from "../line/command.ts";
import { instanceOption, wholeNumber, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";
import { SignalGuard, wrapping } from "../line/wrapping.ts";

/** The most bytes of output that a program may write in one cluster while it runs in several at once. */
const outputLimit = 64 * 1024 * 1024;

/** Whether `--each` is among the words before `--`. */
export function isForEach(args: readonly string[], name: "clusters" | "shell"): boolean {
  return splitAtDashes(args, name).options.has("--each");
}

export function eachCluster(name: string): Command {
  const form = (command: readonly string[]) => defineEach(name, command);
  return wrapping({
    ...form([]),
    start(args, world, context) {
      const { own, rest } = splitAtDashes(args, name);
      return form(rest).start(own, world, context);
    },
  });
}

function defineEach(name: string, command: readonly string[]): Command {
  return defineCommand({
    name,
    summary: "Run a command in each cluster",
    description:
      "Runs the command in one cluster after another; it can use the terminal. With --parallel, several run at " +
      "once, and postern prints the output of each when it ends. A line with the cluster's name precedes its " +
      "output. postern exits with the code of the first cluster in which the command failed.",
    examples: [
      [`postern ${name} 'c-lab-*' --each -- kubectl get nodes`, "Run kubectl in one cluster after another"],
      [`postern ${name} --each --parallel 8 -- oc get clusterversion`, "Run oc in eight clusters at once"],
    ],
    parser: merge(
      clusterWords,
      object({
        each: option("--each", { description: words("Run the command after -- in each selected cluster.") }),
        parallel: optional(option("--parallel", wholeNumber({ metavar: "N", min: 1, max: 64 }), {
          description: words("Number of clusters at once (default: 1)."),
        })),
        trustsFirstUse: trustOption,
        id: instanceOption("Instance to use (default: default)."),
      }),
    ),
    handlesSignals: true,
    async run({ parallel = 1, id, trustsFirstUse, ...wanted }, world, context) {
      if (command.length === 0) {
        throw new PosternError("usage", "Cannot run a command in each cluster: missing command after --", {
          hint: `for example: postern ${name} --each -- kubectl get nodes`,
        });
      }
      using guard = new SignalGuard(world);
      const { signal } = guard;
      const fleet = await readKnownClusters(world, context);
      const clusters = await chosenClusters(fleet, wanted);
      if (clusters.length === 0) {
        throw new PosternError("usage", "Cannot run the command: no cluster matches", {
          hint: "list the clusters: postern clusters",
        });
      }
      await using programs = await openPrograms(world, fleet, { context, id, trustsFirstUse, signal });
      const runs = new Runs(world, { programs, command, isAlone: parallel === 1, signal });
      return await runs.all(clusters, parallel);
    },
  });
}

interface RunsParts {
  readonly programs: ClusterPrograms;
  readonly command: readonly string[];
  /** Whether the command runs in one cluster at a time and can use the terminal. */
  readonly isAlone: boolean;
  readonly signal: AbortSignal;
}

/** One command in many clusters. */
class Runs {
  readonly #world: World;
  readonly #parts: RunsParts;
  readonly #codes = new Map<string, number>();

  constructor(world: World, parts: RunsParts) {
    this.#world = world;
    this.#parts = parts;
  }

  /** Runs the command in all clusters, `atOnce` at a time; returns the first exit code other than 0, in their order. */
  async all(clusters: readonly KnownCluster[], atOnce: number): Promise<number> {
    const waiting = [...clusters];
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        this.#parts.signal.throwIfAborted();
        this.#codes.set(next.name, await this.#one(next));
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, waiting.length) }, worker));
    for (const result of ended) if (result.status === "rejected") throw result.reason;
    this.#parts.signal.throwIfAborted();
    const failed = clusters.flatMap(({ name }) => {
      const code = this.#codes.get(name) ?? 0;
      return code === 0 ? [] : [{ name, code }];
    });
    if (failed.length > 0) {
      const names = failed.map(({ name, code }) => `${name} (${code})`).join(", ");
      await this.#world.terminal.err(
        `postern: failed in ${failed.length} of ${counted(clusters.length, "cluster")}: ${names}\n`,
      );
    }
    return failed[0]?.code ?? 0;
  }

  async #one(known: KnownCluster): Promise<number> {
    const { terminal, process } = this.#world;
    const { programs, command, isAlone, signal } = this.#parts;
    const header = `--- # ${printable(known.name)}\n`;
    try {
      const { variables: env, notes } = await programs.environment(known);
      if (isAlone) {
        await terminal.out(header);
        await tellNotes(this.#world, notes);
        const { signal: never } = new AbortController();
        return await process.attached(command, { signal: never, env });
      }
      const running = process.run(command, { signal, env, limit: outputLimit });
      const { code, stdout, stderr } = await running.catch((error) => {
        // Too much output: the program did start.
        throw isPosternError(error, "protocol") ? error : asUnstarted(error);
      });
      await terminal.out(`${header}${stdout}`);
      await tellNotes(this.#world, notes);
      await terminal.err(stderr);
      return code;
    } catch (error) {
      signal.throwIfAborted();
      const known = asPosternError(error);
      // A program that is missing or cannot be run fails in every cluster.
      if (known.exit === 126 || known.exit === 127) throw error;
      await terminal.err(`postern: error: ${printable(describe(known))}\n`);
      return 125;
    }
  }
}
