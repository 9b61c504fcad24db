import { object, or } from "@optique/core/constructs";
import { command, constant } from "@optique/core/primitives";
import { counted } from "../../core/mod.ts";
import { directoryOf, type World } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { outputOption, words } from "../line/options.ts";
import { printableLines } from "../output/printable.ts";
import { formatValue, printValue } from "../output/print_value.ts";

/** `postern config check|show|schema|init`. */
export default defineCommand({
  name: "config",
  summary: "checks, shows, describes or starts the configuration",
  description: "The configuration is --config FILE, else $POSTERN_CONFIG, else postern/config.yaml in your " +
    "configuration directory.",
  examples: [
    ["postern config init", "writes a first configuration, with explanations"],
    ["postern config check", "every problem at once, as FILE:LINE:COLUMN: PATH: what is wrong"],
    ["postern config show", "what is in force, with secrets masked"],
    ["postern config schema > postern.schema.json", "the JSON Schema, for an editor"],
  ],
  parser: or(
    command(
      "check",
      object({ action: constant("check"), output: outputOption(["table", "json", "yaml"], "table") }),
      {
        brief: words("Reports every problem, and starts nothing."),
        description: words(
          "Reports every problem as FILE:LINE:COLUMN: PATH: what is wrong; the exit code is 4 if there is one. " +
            "What the ssh configuration asks for and postern does not do is a warning: the door starts without " +
            "that transport.",
        ),
      },
    ),
    command("show", object({ action: constant("show"), output: outputOption(["json", "yaml"], "yaml") }), {
      brief: words("Prints what is in force, with secrets masked."),
      description: words(
        "Prints the configuration as it is written, with secrets masked; the reference has the defaults.",
      ),
    }),
    command("schema", object({ action: constant("schema") }), {
      brief: words("Prints the JSON Schema of the configuration."),
      description: words("Prints the JSON Schema of the configuration, for editors and checkers."),
    }),
    command("init", object({ action: constant("init") }), {
      brief: words("Writes a first configuration; never replaces one."),
      description: words(
        "Writes a first configuration with explanations, and its schema beside it; never replaces one.",
      ),
    }),
    { errors: { noMatch: words("Say what to do: check, show, schema or init.") } },
  ),
  async run(values, world, context) {
    if (values.action === "check") await check(values.output, world, context);
    else if (values.action === "show") await show(values.output, world, context);
    else if (values.action === "schema") await schema(world);
    else await init(world, context);
  },
});

async function check(
  output: "table" | "json" | "yaml",
  world: World,
  { globals }: RunContext,
): Promise<void> {
  const { checkConfig } = await import("../../instance/mod.ts");
  const { configPath } = await import("../../plan/mod.ts");
  const { path, errors, warnings, transports } = await checkConfig(world, { config: globals.config });
  const file = path ?? configPath(world, globals.config);
  if (output !== "table") await printValue(world, { path: file, errors, warnings, transports }, output);
  else {
    await world.terminal.out(errors.map((line) => `${printableLines(line)}\n`).join(""));
    await world.terminal.err(warnings.map((line) => `${printableLines(line)}\n`).join(""));
  }
  if (errors.length > 0) {
    throw new PosternError("config", `Cannot use "${file}": ${counted(errors.length, "problem")}`, {
      hint: "postern config schema prints what may stand where",
    });
  }
  if (output === "table") {
    const unusable = transports.filter(({ isUsable }) => !isUsable).map(({ name }) => name);
    const except = unusable.length === 0
      ? ""
      : `, but ${counted(unusable.length, "transport")} cannot be used: ${unusable.join(", ")}`;
    await world.terminal.err(
      path === undefined
        ? `postern: there is no "${file}": the defaults are fine\n`
        : `postern: "${file}" is fine${printableLines(except)}\n`,
    );
  }
}

async function show(output: "json" | "yaml", world: World, { globals }: RunContext): Promise<void> {
  const { showConfig } = await import("../../instance/mod.ts");
  await printValue(world, await showConfig(world, { config: globals.config, overrides: {} }), output);
}

async function schema(world: World): Promise<void> {
  const { configSchema } = await import("../../plan/mod.ts");
  await printValue(world, await configSchema(), "json");
}

async function init(world: World, { globals }: RunContext): Promise<void> {
  const { configPath, configSchema, starterConfig } = await import("../../plan/mod.ts");
  const { files, terminal } = world;
  const path = configPath(world, globals.config);
  if (await files.info(path)) {
    throw new PosternError("config", `Cannot write "${path}": it exists already`, {
      exit: 1,
      hint: "edit it, or name another file with --config FILE",
    });
  }
  const directory = directoryOf(path);
  if (!await files.info(directory)) await files.privateDirectory(directory);
  await files.replace(path, starterConfig);
  const beside = `${directory}/postern.schema.json`;
  await files.replace(beside, await formatValue(await configSchema(), "json"), { mode: 0o644 });
  await terminal.err(
    `postern: wrote "${path}" and "${beside}"\npostern: next: edit it, then run postern config check\n`,
  );
}
