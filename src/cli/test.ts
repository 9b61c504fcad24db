import { object } from "@optique/core/constructs";
import { multiple, optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { TransportTest } from "../app/mod.ts";
import { defineCommand } from "./command.ts";
import { durationValue, outputOption, words } from "./options.ts";
import { type Paint, paintFor } from "./paint.ts";
import { printValue } from "./print_value.ts";
import { printable } from "./printable.ts";

/** The exit code of a test that failed. */
const foundFailure = 7;

/** `postern test`. */
export default defineCommand({
  name: "test",
  summary: "signs in to every jump host, all at once",
  description:
    "Each line is one ssh transport of the configuration, as soon as it is known how it went, with the time that " +
    "each host on the way took. It makes sessions of its own and leaves a running door alone. The exit code is 7 " +
    "when one failed and 4 when the configuration is wrong.",
  examples: [
    ["postern test", "every ssh transport"],
    ["postern test 'jump*' --timeout 5s", "those whose name, or a host on whose way, matches"],
    ["postern test -o json", "for programs"],
  ],
  parser: object({
    patterns: multiple(argument(string({ metavar: "PATTERN" }), {
      description: words("The name of a transport or of an ssh host; * and ? stand for any characters."),
    })),
    timeout: optional(option("--timeout", durationValue(), {
      description: words("How long each may take (default: what is configured for each host)."),
    })),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run({ patterns, timeout: limit, output }, world, { signal, globals, log }) {
    const { testTransports } = await import("../app/mod.ts");
    const paint = paintFor(world, "out");
    const { config } = globals;
    const tests: TransportTest[] = [];
    let order: readonly string[] = [];
    await testTransports(world, {
      patterns,
      log,
      ...(limit !== undefined && { limit }),
      ...(config !== undefined && { config }),
    }, {
      signal,
      async look({ names, ended }) {
        const width = Math.max(0, ...names.map((name) => printable(name).length));
        order = names;
        for await (const test of ended) {
          tests.push(test);
          if (output === "table") await world.terminal.out(testText(test, { width, paint }));
        }
      },
    });
    tests.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
    if (output !== "table") await printValue(world, tests, output);
    else if (tests.length === 0) {
      await world.terminal.err("postern: the configuration has no ssh transport\n");
    }
    return tests.every(({ ok }) => ok) ? 0 : foundFailure;
  },
});

function testText(
  { name, ok, ms, hops, error }: TransportTest,
  { width, paint: { green, red, dim } }: { readonly width: number; readonly paint: Paint },
): string {
  const state = ok ? green("ok    ") : red("FAILED");
  const way = hops.map(({ host, ms }) => ms === undefined ? host : `${host} ${ms} ms`).join(" > ");
  const line = [state, printable(name).padEnd(width), `${ms.toFixed(0).padStart(6)} ms`, printable(way)];
  const indent = " ".repeat(8);
  const more = error === undefined ? "" : `${indent}${printable(error.message)}\n` +
    (error.hint === undefined ? "" : `${indent}${dim(printable(error.hint))}\n`);
  return `${line.join("  ").trimEnd()}\n${more}`;
}
