import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InstanceReload } from "../../instances/mod.ts";
import type { UpdateReport } from "../../fleet/mod.ts";
import { formatAge } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { durationValue, outputOption, pathValue, words } from "../line/options.ts";
import { printValue } from "../output/print_value.ts";
import { printable, printableLines } from "../output/printable.ts";
import { changeLines, warningLines } from "./update_text.ts";

export default defineCommand({
  name: "update",
  summary: "Fetch the catalogue of clusters and reload instances",
  description:
    "Signs in when the stored token no longer works, fetches and stores the clusters of each catalogue, and reloads " +
    "your running instances. Instances use the stored catalogue until the next update, without connecting to its " +
    "API. A failed update changes nothing.",
  examples: [
    ["postern update", "Fetch all configured catalogues"],
    [
      "LIEUTENANT_URL=https://api.syn.example.com postern update",
      "Fetch a catalogue without a configuration",
    ],
    ["postern update --dry-run", "Show what would change"],
    [
      "postern update --if-older-than 12h --no-sign-in",
      "Fetch only old catalogues and never prompt, for a timer",
    ],
    ["postern update --token-file - < token", "Use a token instead of signing in"],
  ],
  parser: object({
    name: optional(
      argument(string({ metavar: "CATALOGUE" }), {
        description: words("Fetch this catalogue only (default: all)."),
      }),
    ),
    lieutenantUrl: optional(option("--lieutenant-url", string({ metavar: "URL" }), {
      description: words("Fetch only the catalogue of this Lieutenant API, configured or not."),
    })),
    isDryRun: option("--dry-run", { description: words("Show what would change, without changing it.") }),
    ifOlderThan: optional(option("--if-older-than", durationValue(), {
      description: words("Skip catalogues fetched less than this duration ago, for example 12h."),
    })),
    allowsEmpty: option("--allow-empty", {
      description: words("Accept an empty catalogue."),
    }),
    fromKharon: option("--import-kharon", {
      description: words("Import the catalogue that kharon stored instead of fetching one."),
    }),
    device: option("--device", {
      description: words("Show a code to type on another device, for machines without a browser."),
    }),
    noSignIn: option("--no-sign-in", {
      description: words("Fail instead of prompting when the stored sign-in has expired, for timers."),
    }),
    tokenFile: optional(option("--token-file", pathValue("FILE"), {
      description: words("File with a token to use instead of signing in; - reads stdin."),
    })),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run(values, world, context) {
    const report = await update(values, world, context);
    if (values.output !== "table") await printValue(world, await valueOf(report), values.output);
    else await show(report, values, world);
    const failed = report.catalogues.find((one) => "error" in one) ??
      report.instances.find((one) => "error" in one);
    if (failed && "error" in failed) throw failed.error;
  },
});

interface Values {
  readonly lieutenantUrl: string | undefined;
  readonly name: string | undefined;
  readonly isDryRun: boolean;
  readonly ifOlderThan: number | undefined;
  readonly allowsEmpty: boolean;
  readonly fromKharon: boolean;
  readonly device: boolean;
  readonly noSignIn: boolean;
  readonly tokenFile: string | undefined;
}

async function update(
  values: Values,
  world: World,
  { globals: { config }, log, signal }: RunContext,
): Promise<UpdateReport> {
  const {
    name,
    lieutenantUrl,
    isDryRun,
    ifOlderThan,
    allowsEmpty,
    fromKharon,
    device,
    noSignIn,
    tokenFile,
  } = values;
  const { importKharon, updateCatalogues } = await import("../../fleet/mod.ts");
  const source = { config };
  if (fromKharon) {
    const other = name ?? (lieutenantUrl && "--lieutenant-url") ??
      (device ? "--device" : tokenFile && "--token-file");
    if (other !== undefined) {
      throw new PosternError("usage", `Cannot use ${other} together with --import-kharon`, {
        hint: `omit ${other === name ? "the catalogue" : other}`,
      });
    }
    return await importKharon(world, source, { isDryRun, ifOlderThan, signal });
  }
  const token = tokenFile === "-" ? "input" : tokenFile === undefined ? undefined : { file: tokenFile };
  if (device && noSignIn) {
    throw new PosternError("usage", "Cannot use --device together with --no-sign-in", {
      hint: "omit one of the two",
    });
  }
  const method = noSignIn ? "none" : device ? "device" : "browser";
  const what = { name, lieutenantUrl, isDryRun, ifOlderThan, allowsEmpty };
  return await updateCatalogues(world, source, { ...what, method, token, log, signal });
}

async function show(
  { catalogues, notes, instances }: UpdateReport,
  { isDryRun }: Pick<Values, "isDryRun">,
  world: World,
): Promise<void> {
  const { terminal } = world;
  const say = (text: string) => terminal.err(`postern: ${printableLines(text)}\n`);
  for (const note of notes) await say(note);
  for (const one of catalogues) {
    if ("error" in one) continue;
    if ("isFresh" in one) {
      const age = formatAge(world.clock.date().getTime() - Date.parse(one.fetched));
      await say(`catalogue ${one.name}: fetched ${age} ago, skipped`);
      continue;
    }
    await terminal.err(warningLines(one).map((line) => `postern: ${line}\n`).join(""));
    await terminal.out(changeLines(one, { isDryRun }).map((line) => `${line}\n`).join(""));
  }
  for (const instance of instances) if (!("error" in instance)) await say(reloaded(instance));
  await sayFailures({ catalogues, instances }, world);
}

/** Reports all failures but the first, which the command throws at its end. */
async function sayFailures(
  { catalogues, instances }: Pick<UpdateReport, "catalogues" | "instances">,
  { terminal }: World,
): Promise<void> {
  const failures = [...catalogues, ...instances].flatMap((one) => "error" in one ? [one.error] : []);
  for (const { message, hint } of failures.slice(1)) {
    await terminal.err(`postern: error: ${printable(message)}\n`);
    if (hint !== undefined) await terminal.err(`postern: hint: ${printable(hint)}\n`);
  }
}

function reloaded({ id }: InstanceReload): string {
  return `reloaded instance "${id}"`;
}

/** The report as plain JSON. */
async function valueOf({ catalogues, notes, instances }: UpdateReport): Promise<unknown> {
  const { errorInfo } = await import("../../control/mod.ts");
  return {
    catalogues: catalogues.map((one) =>
      "error" in one ? { name: one.name, error: errorInfo(one.error) } : one
    ),
    notes,
    instances: instances.map((one) =>
      "error" in one ? { id: one.id, error: errorInfo(one.error) } : { id: one.id, ...one.report }
    ),
  };
}
