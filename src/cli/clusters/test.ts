import { merge, object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import type { FleetTest } from "../../fleet/mod.ts";
import { clusterWords, tellNotes } from "./cluster_options.ts";
import { defineCommand } from "../line/command.ts";
import { durationValue, instanceOption, outputOption, wholeNumber, words } from "../line/options.ts";
import { paintFor } from "../output/paint.ts";
import { printValue } from "../output/print_value.ts";
import { printable } from "../output/printable.ts";
import { Progress } from "../output/progress.ts";
import { countsText, testText } from "./test_text.ts";

/** The exit code of a test that failed. */
const foundFailure = 7;

/** `postern test`. */
export default defineCommand({
  name: "test",
  summary: "tries every jump host and every cluster, several at once",
  description:
    "Signs in to each jump host, with sessions of its own, and asks each cluster's API, console and OAuth server, " +
    "through the door that runs or, where none does, through these sessions. A line each, as soon as it is known " +
    "how it went, with the time it took. Any answer of a cluster is good, also one that says no; 500 and more is " +
    "not. A pattern is the name of a transport or of an ssh host, or what postern clusters takes; with a cluster " +
    "the jump hosts on the way to it are tried too. The exit code is 7 when one failed and 4 when the " +
    "configuration is wrong.",
  examples: [
    ["postern test", "all jump hosts and clusters"],
    ["postern test 'jump*' --timeout 5s", "those whose name, or a host on whose way, matches"],
    ["postern test -l cloud=exoscale --parallel 40", "clusters with this fact, many at once"],
    ["postern test -o json | jq .counts", "for programs"],
  ],
  parser: merge(
    clusterWords,
    object({
      timeout: optional(option("--timeout", durationValue(), {
        description: words(
          "How long each may take (default: for a cluster 30s, for a host what is configured).",
        ),
      })),
      parallel: optional(option("--parallel", wholeNumber({ metavar: "N", min: 1, max: 256 }), {
        description: words("How many at once (default: 16)."),
      })),
      alone: optional(option("--own-sessions", {
        description: words("Asks the clusters through sessions of its own, also where a door runs."),
      })),
      id: instanceOption("The door to ask the clusters through (default: default)."),
      output: outputOption(["table", "json", "yaml"], "table"),
    }),
  ),
  async run({ timeout, parallel = 16, alone = false, id, output, ...wanted }, world, context) {
    const { signal, globals: { config }, log } = context;
    const { countsOf, testFleet } = await import("../../fleet/mod.ts");
    const paint = paintFor(world, "out");
    const isTable = output === "table";
    const tests: FleetTest[] = [];
    await testFleet(world, {
      ...wanted,
      parallel,
      isAlone: alone,
      log,
      id,
      limit: timeout,
      config,
    }, {
      signal,
      async look({ names, notes, ended }) {
        await tellNotes(world, notes);
        const width = Math.min(40, Math.max(0, ...names.map((name) => printable(name).length)));
        await using progress = new Progress(world);
        let count = 0;
        await progress.show(`0 of ${names.length}`);
        for await (const { at, test } of ended) {
          tests[at] = test;
          if (isTable) {
            await progress.clear();
            await world.terminal.out(testText(test, { width, paint }));
          }
          await progress.show(`${++count} of ${names.length}`);
        }
      },
    });
    const counts = countsOf(tests);
    if (!isTable) await printValue(world, { counts, tests }, output);
    else if (tests.length > 0) await world.terminal.err(`postern: ${countsText(counts)}\n`);
    else {await world.terminal.err(
        "postern: the configuration has no ssh transport, and no cluster is known\n",
      );}
    return counts.failed === 0 ? 0 : foundFailure;
  },
});
