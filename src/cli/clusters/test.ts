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

export default defineCommand({
  name: "test",
  summary: "Test every jump host and cluster",
  description:
    "Signs in to each jump host with separate sessions, and sends a request to each cluster's API, console and OAuth " +
    "server, through the running instance or else through these sessions. Prints the result and duration of each test " +
    "when it ends. Any HTTP status below 500 passes. PATTERN matches transports, ssh hosts and, as in postern " +
    "clusters, clusters; for a cluster, postern also tests the jump hosts on its path. The exit code is 7 when a test failed and 4 when the configuration is invalid.",
  examples: [
    ["postern test", "Test all jump hosts and clusters"],
    ["postern test 'jump*' --timeout 5s", "Test the matching jump hosts and clusters"],
    ["postern test -l cloud=exoscale --parallel 40", "Test the clusters with this fact, 40 at once"],
    ["postern test -o json | jq .counts", "Print only the counts"],
  ],
  parser: merge(
    clusterWords,
    object({
      timeout: optional(option("--timeout", durationValue(), {
        description: words(
          "Timeout for each test (default: 30s for a cluster, the configured timeout for a host).",
        ),
      })),
      parallel: optional(option("--parallel", wholeNumber({ metavar: "N", min: 1, max: 256 }), {
        description: words("Number of tests at once (default: 16)."),
      })),
      alone: optional(option("--own-sessions", {
        description: words("Test clusters through separate sessions even when an instance runs."),
      })),
      id: instanceOption("Instance to test the clusters through (default: default)."),
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
        "postern: nothing to test: no ssh transport is configured, and no cluster is stored\n",
      );}
    return counts.failed === 0 ? 0 : foundFailure;
  },
});
