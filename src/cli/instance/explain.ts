import { object } from "@optique/core/constructs";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { ExplanationInfo } from "../../control/mod.ts";
import { maskedUrl } from "../../config/mod.ts";
import { exitCode, parseTarget, PosternError } from "../../words/mod.ts";
import { defineCommand } from "../line/command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption, outputOption, words } from "../line/options.ts";
import { type Paint, paintFor } from "../output/paint.ts";
import { printValue } from "../output/print_value.ts";
import { printable } from "../output/printable.ts";
import { table } from "../output/table.ts";

export default defineCommand({
  name: "explain",
  summary: "Show where a connection would go, and why",
  description:
    "Shows the rule that decides and its source, the path with every hop, and the rules that lost. Without --dial, " +
    "postern neither resolves names nor connects.",
  examples: [
    ["postern explain db.example.net:5432", "Show the deciding rule and the rules that lost"],
    ["postern explain --dial db.example.net:5432", "Connect and time every step; exit code 6 on failure"],
    ["postern explain --config new.yaml db.example.net", "Check a file that is not loaded yet"],
  ],
  parser: object({
    target: argument(string({ metavar: "HOST[:PORT]" }), {
      description: words(
        "Target name or IP address, as a client would send it (default port: 443).",
      ),
    }),
    dial: option("--dial", { description: words("Connect, and show how long each step took.") }),
    id: instanceOption(),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run({ target, dial, id = "default", output }, world, context) {
    // The argument may be a pasted URL: the error must not show its password. HOST:PORT has nothing to mask.
    const asked = parseTarget(maskedUrl(target), 443);
    const { signal } = context;
    const explanation = await fromInstanceOrFiles(world, id, context, {
      instance: (client) => client.explain(asked, { dial, signal }),
      files: ({ explainFromFiles }, sources) =>
        explainFromFiles(world, sources, { target: asked, dial, id, signal }),
    });
    world.process.keepOnly("nothing");
    if (output !== "table") await printValue(world, explanation, output);
    else await world.terminal.out(explanationText(explanation, paintFor(world, "out")));
    const failure = explanation.dial?.error;
    return failure === undefined ? 0 : exitCode(new PosternError(failure.code, failure.message));
  },
});

export function explanationText(
  { target, transport, because, hops, losers, forward, loopback, held, dial }: ExplanationInfo,
  paint: Paint,
): string {
  const path = hops.map(({ name, type, detail }) => {
    const more = [...(type === name ? [] : [type]), ...(detail === undefined ? [] : [detail])];
    return more.length === 0 ? name : `${name} (${more.join(" ")})`;
  });
  const lines = held
    ? [
      `${paint.bold(printable(target))} is ${paint.red("rejected")}`,
      `  because  ${printable(because)}`,
      `  reason   ${printable(held.message)}`,
      ...(held.hint === undefined ? [] : [`  hint     ${printable(held.hint)}`]),
    ]
    : [
      `${paint.bold(printable(target))} goes to ${paint.bold(printable(transport))}`,
      `  because  ${printable(because)}`,
      // In the order of dialing, from here to the target.
      `  path     ${["here", ...path.reverse(), target].map(printable).join(" > ")}`,
    ];
  if (forward) {
    const { address, target: to, name } = forward;
    const named = name === undefined ? "" : ` (${name})`;
    lines.push(
      `  forward  ${printable(`postern forwards ${address} to ${to}${named}; explain that target`)}`,
    );
  }
  if (loopback !== undefined) {
    lines.push(`  loopback ${printable(`postern listens on ${loopback} for this target`)}`);
  }
  let text = `${lines.join("\n")}\n`;
  for (const { name, problem, hint } of hops) {
    if (problem === undefined) continue;
    text += `  problem  ${paint.red(`${printable(name)}: ${printable(problem)}`)}\n`;
    if (hint !== undefined) text += `           ${printable(hint)}\n`;
  }
  if (losers.length > 0) {
    text += "\n" + table(losers, [
      { title: "LOST", show: ({ rule }) => rule },
      { title: "TO", show: ({ transport }) => transport },
      { title: "FROM", show: ({ source }) => source },
      { title: "WHY", show: ({ why }) => why },
    ], paint.dim);
  }
  if (!dial) return text;
  const steps = dial.steps.map(({ step, ms }) => `  ${ms.toFixed(1).padStart(8)} ms  ${printable(step)}\n`);
  const end = dial.error === undefined
    ? paint.green("connected")
    : paint.red(`failed: ${printable(dial.error.message)}`);
  const hint = dial.error?.hint === undefined ? "" : `${" ".repeat(15)}${printable(dial.error.hint)}\n`;
  return `${text}\n${steps.join("")}  ${dial.ms.toFixed(1).padStart(8)} ms  ${end}\n${hint}`;
}
