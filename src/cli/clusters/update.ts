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

/** `postern update`. */
export default defineCommand({
  name: "update",
  summary: "fetches the catalogue of clusters, and has running doors take it up",
  description:
    "It signs in where no stored token does, fetches the clusters of each catalogue, stores them, and has every " +
    "running door of this user read them. From then on nothing has to be reachable for that: what is stored " +
    "counts until the next update. Where an update fails everything stays as it was.",
  examples: [
    ["postern update", "all catalogues of the configuration"],
    ["LIEUTENANT_URL=https://api.syn.example.com postern update", "without a configuration"],
    ["postern update --dry-run", "tells what would change"],
    ["postern update --if-older-than 12h --no-sign-in", "for a timer: mostly does nothing"],
    ["postern update --token-file - < token", "where nobody can sign in"],
  ],
  parser: object({
    name: optional(
      argument(string({ metavar: "CATALOGUE" }), {
        description: words("Only this one of the configuration."),
      }),
    ),
    lieutenantUrl: optional(option("--lieutenant-url", string({ metavar: "URL" }), {
      description: words("Only the catalogue of this API, in the configuration or not."),
    })),
    isDryRun: option("--dry-run", { description: words("Tells what would change, and changes nothing.") }),
    ifOlderThan: optional(option("--if-older-than", durationValue(), {
      description: words("Leaves alone what was fetched less than this ago, for example 12h."),
    })),
    allowsEmpty: option("--allow-empty", {
      description: words("Takes a list without clusters for true where some are stored."),
    }),
    fromKharon: option("--import-kharon", {
      description: words("Takes over what kharon has stored; nothing is fetched."),
    }),
    device: option("--device", {
      description: words("Where this machine has no browser: shows a code to be typed on another device."),
    }),
    asksNobody: option("--no-sign-in", {
      description: words("For timers: asks nobody, and fails where the stored sign-in is good no more."),
    }),
    tokenFile: optional(option("--token-file", pathValue("FILE"), {
      description: words("A file with a token, instead of signing in; - is the standard input."),
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
  readonly asksNobody: boolean;
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
    asksNobody,
    tokenFile,
  } = values;
  const { importKharon, updateCatalogues } = await import("../../fleet/mod.ts");
  const source = { config };
  if (fromKharon) {
    const other = name ?? (lieutenantUrl && "--lieutenant-url") ??
      (device ? "--device" : tokenFile && "--token-file");
    if (other !== undefined) {
      throw new PosternError("usage", `Cannot use ${other} together with --import-kharon`, {
        hint: "postern update --import-kharon",
      });
    }
    return await importKharon(world, source, { isDryRun, ifOlderThan, signal });
  }
  const token = tokenFile === "-" ? "input" : tokenFile === undefined ? undefined : { file: tokenFile };
  if (device && asksNobody) {
    throw new PosternError("usage", "Cannot use --device together with --no-sign-in", {
      hint: "leave one of the two out",
    });
  }
  const method = asksNobody ? "none" : device ? "device" : "browser";
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
      await say(`catalogue ${one.name}: fetched ${age} ago, nothing to do`);
      continue;
    }
    await terminal.err(warningLines(one).map((line) => `postern: ${line}\n`).join(""));
    await terminal.out(changeLines(one, { isDryRun }).map((line) => `${line}\n`).join(""));
  }
  for (const instance of instances) if (!("error" in instance)) await say(reloaded(instance));
  await sayFailures({ catalogues, instances }, world);
}

/** All failures but the first one, with which the command ends. */
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
  return `the door "${id}" has taken it up`;
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
