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

/** `postern explain`. */
export default defineCommand({
  name: "explain",
  summary: "says where a connection would go, and why",
  description:
    "It names the rule that decides and where that rule was written, the transport with every hop, and the " +
    "rules that lost. Nothing is resolved and nothing is dialled unless --dial is given.",
  examples: [
    ["postern explain db.example.net:5432", "which rule decides, and which ones lost"],
    ["postern explain --dial db.example.net:5432", "tries it and times every step; exit code 6 if it fails"],
    ["postern explain --config new.yaml db.example.net", "asks a file that is not in force yet"],
  ],
  parser: object({
    target: argument(string({ metavar: "HOST[:PORT]" }), {
      description: words(
        "A name or an address, as a client would ask for it (port 443 where none is given).",
      ),
    }),
    dial: option("--dial", { description: words("Tries it, and tells how long each step took.") }),
    id: instanceOption(),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run({ target, dial, id = "default", output }, world, context) {
    // Whoever pastes a URL is told so, without its password; no host and port has what would be masked.
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

/** An answer for a person to read. */
export function explanationText(
  { target, transport, because, hops, losers, held, dial }: ExplanationInfo,
  paint: Paint,
): string {
  const way = hops.map(({ name, type, detail }) => {
    const more = [...(type === name ? [] : [type]), ...(detail === undefined ? [] : [detail])];
    return more.length === 0 ? name : `${name} (${more.join(" ")})`;
  });
  const lines = held
    ? [
      `${paint.bold(printable(target))} is ${paint.red("refused")}`,
      `  because  ${printable(because)}`,
      `  reason   ${printable(held.message)}`,
      ...(held.hint === undefined ? [] : [`  hint     ${printable(held.hint)}`]),
    ]
    : [
      `${paint.bold(printable(target))} goes to ${paint.bold(printable(transport))}`,
      `  because  ${printable(because)}`,
      // From here to there: the way in which it is dialled.
      `  way      ${["here", ...way.reverse(), target].map(printable).join(" > ")}`,
    ];
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
