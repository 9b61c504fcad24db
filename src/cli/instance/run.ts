import { object } from "@optique/core/constructs";
import { multiple, withDefault } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { alternatives } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, oneOf, words } from "../line/options.ts";
import { SignalGuard, wrapping } from "../line/wrapping.ts";
import { tellNotes } from "../clusters/cluster_options.ts";
import { programKinds, socksOption } from "./program_options.ts";

/** `postern run`: one program with the variables of `postern env`. */
export default wrapping(defineCommand({
  name: "run",
  summary: "Run a program with the proxy variables set",
  description:
    "Sets the variables of postern env --for all, for this program only. Put postern's options before CMD; postern " +
    "passes everything after it on unchanged, without a shell. postern exits with the program's exit code, or with " +
    "125 if postern itself fails, 126 if the program cannot be run, and 127 if it is missing. Without a running " +
    "instance, postern starts one and stops it when the program ends.",
  examples: [
    ["postern run -- npm install", "Run npm through postern"],
    ["postern run git clone git@git.lab.example:team/app.git", "Clone over ssh through the rules"],
    ["postern run --for jdbc java -jar app.jar", "Set only the variables for JDBC drivers"],
  ],
  parser: object({
    programs: withDefault(
      option("--for", oneOf(programKinds, "PROGRAMS"), {
        description: words(`Kind of program: ${alternatives(programKinds)} (default: all).`),
      }),
      "all",
    ),
    socks: socksOption,
    id: instanceOption("Instance to use (default: default)."),
    command: multiple(
      argument(string({ metavar: "CMD" }), { description: words("The program and its arguments.") }),
    ),
  }),
  handlesSignals: true,
  async run({ programs, socks, id, command }, world, { globals: { config }, version, log }) {
    if (command.length === 0) {
      throw new PosternError("usage", 'Cannot run "postern run": Missing argument: CMD', {
        hint: "name the program to run: postern run -- CMD",
      });
    }
    using guard = new SignalGuard(world);
    const { signal } = guard;
    const { openProgramInstance } = await import("../../programs/mod.ts");
    const { environmentOfProgram, environmentsOf } = await import("../../instance/mod.ts");
    await using instance = await openProgramInstance(world, { config, id, version, log, signal });
    if (instance.isPrivate) {
      const why = config === undefined ? 'instance "default" is not running: ' : "";
      await tellNotes(world, [`${why}postern starts an instance until the program ends`]);
    }
    const environment = await environmentsOf(programs, (client) => instance.environmentFor(client));
    const env = environmentOfProgram(world, environment, { programs, socks, id, config });
    signal.throwIfAborted();
    // The program handles signals while it runs.
    const { signal: never } = new AbortController();
    return await world.process.attached(command, { signal: never, env });
  },
}));
