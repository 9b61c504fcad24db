import { object } from "@optique/core/constructs";
import { option } from "@optique/core/primitives";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { clusterArgument, readKnownClusters } from "./cluster_options.ts";
import { type Command, defineCommand, type RunContext } from "../line/command.ts";
import { words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

/** How long postern waits for the browser program to fail, in ms. */
const firstMoment = 1000;

export const console: Command = consoleNamed("console", "console c-lab");

export const clusterConsole: Command = consoleNamed("clusters NAME console", "clusters c-lab console");

function consoleNamed(name: string, form: string): Command {
  return defineCommand({
    name,
    summary: "Open a cluster's web console in a browser",
    description:
      "postern starts the browser in $POSTERN_BROWSER, $KHARON_BROWSER or $BROWSER, in this order, else the system's " +
      "default. Without a browser, it prints the address. The browser reaches the console through postern when it " +
      "uses the instance's proxy.pac.",
    examples: [[`postern ${form}`, "Open the console"], [
      `postern ${form} --print`,
      "Print the address only",
    ]],
    parser: object({
      name: clusterArgument,
      print: option("--print", { description: words("Print the address instead of opening a browser.") }),
    }),
    async run({ name, print }, world, context) {
      const url = await consoleOf(name, world, context);
      if (print) return await world.terminal.out(`${url.href}\n`);
      await open(url, world, context);
    },
  });
}

async function consoleOf(name: string, world: World, context: RunContext): Promise<URL> {
  const fleet = await readKnownClusters(world, context);
  const { addressesOf, findCluster } = await import("../../clusters/mod.ts");
  const known = findCluster(fleet.clusters, name);
  const url = addressesOf(known.cluster).console;
  if (url) return url;
  throw new PosternError("config", `Cannot open the console of ${known.name}: no fact contains its address`, {
    hint: "set the fact openshiftConsoleURL to an https:// address",
  });
}

async function open(url: URL, world: World, { signal }: RunContext): Promise<void> {
  const { openBrowser } = await import("../../signin/mod.ts");
  const browser = await openBrowser(url, world, { signal });
  if (!browser) {
    await world.terminal.out(`${url.href}\n`);
    await world.terminal.err(
      "postern: found no browser: open the address yourself, or set BROWSER\n",
    );
    return;
  }
  const { program, ended, release } = browser;
  const waiting = new AbortController();
  try {
    const late = pause(world.clock, firstMoment, { signal: AbortSignal.any([signal, waiting.signal]) });
    const code = await Promise.race([ended, late.then(() => 0)]);
    if (code !== 0) {
      throw new PosternError(
        "config",
        `Cannot open the console: "${program}" failed with exit code ${code}`,
        {
          exit: 1,
          hint: `open it yourself: ${printable(url.href)}`,
        },
      );
    }
    await world.terminal.err(`postern: opened ${printable(url.href)} with ${printable(program)}\n`);
  } finally {
    waiting.abort();
    release();
  }
}
