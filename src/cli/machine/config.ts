import { object, or } from "@optique/core/constructs";
import { command, constant } from "@optique/core/primitives";
import { counted } from "../../core/mod.ts";
import { directoryOf, type World } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { outputOption, words } from "../line/options.ts";
import { printableLines } from "../output/printable.ts";
import { formatValue, printValue } from "../output/print_value.ts";

export default defineCommand({
  name: "config",
  summary: "Check, print or create the configuration",
  description: "The configuration is --config FILE, else $POSTERN_CONFIG, else postern/config.yaml in your " +
    "configuration directory.",
  examples: [
    ["postern config init", "Write a first configuration with explanations"],
    ["postern config check", "Print all problems, each with file, line and column"],
    ["postern config show", "Print the configuration with secrets masked"],
    ["postern config schema > postern.schema.json", "Save the JSON Schema for an editor"],
  ],
  parser: or(
    command(
      "check",
      object({ action: constant("check"), output: outputOption(["table", "json", "yaml"], "table") }),
      {
        brief: words("Print all problems without starting anything."),
        description: words(
          "Prints each problem as FILE:LINE:COLUMN: PATH: PROBLEM; the exit code is 4 if there is one. Unsupported " +
            "options in the ssh configuration are warnings: postern starts without that transport.",
        ),
      },
    ),
    command("show", object({ action: constant("show"), output: outputOption(["json", "yaml"], "yaml") }), {
      brief: words("Print the configuration with secrets masked."),
      description: words(
        "Prints the configuration file with secrets masked and without defaults; the reference lists the defaults.",
      ),
    }),
    command("schema", object({ action: constant("schema") }), {
      brief: words("Print the JSON Schema of the configuration."),
      description: words("Prints the JSON Schema of the configuration, for editors and validators."),
    }),
    command("init", object({ action: constant("init") }), {
      brief: words("Write a first configuration; never overwrites a file."),
      description: words(
        "Writes a first configuration with explanations, and its schema next to it; never overwrites a configuration.",
      ),
    }),
    { errors: { noMatch: words("Missing argument: check, show, schema or init.") } },
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
      hint: "print the valid settings with postern config schema",
    });
  }
  if (output === "table") {
    const unusable = transports.filter(({ isUsable }) => !isUsable).map(({ name }) => name);
    const except = unusable.length === 0
      ? ""
      : `, but ${counted(unusable.length, "transport")} cannot be used: ${unusable.join(", ")}`;
    await world.terminal.err(
      path === undefined
        ? `postern: "${file}" does not exist: postern uses the defaults\n`
        : `postern: "${file}" is valid${printableLines(except)}\n`,
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
    throw new PosternError("config", `Cannot write "${path}": the file exists`, {
      exit: 1,
      hint: "edit it, or choose another file with --config FILE",
    });
  }
  const directory = directoryOf(path);
  if (!await files.info(directory)) await files.privateDirectory(directory);
  await files.replace(path, starterConfig);
  const schemaFile = `${directory}/postern.schema.json`;
  await files.replace(schemaFile, await formatValue(await configSchema(), "json"), { mode: 0o644 });
  await terminal.err(
    `postern: wrote "${path}" and "${schemaFile}"\npostern: next: edit it, then run postern config check\n`,
  );
}
