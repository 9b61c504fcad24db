import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import type { DesktopName, RestoredProxy } from "../../resolver/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { instanceOption, oneOf, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

const desktops: readonly DesktopName[] = ["gnome", "kde", "macos", "windows"];

export default defineCommand({
  name: "system-proxy",
  summary: "Set the PAC file in the desktop's proxy settings",
  description:
    "on writes the PAC address of the running instance to the settings of GNOME, KDE, macOS or Windows. off restores " +
    "the previous settings, except those that you have changed since. status shows the settings. postern stores the " +
    "previous settings first, so postern cleanup can restore them after a crash. Stopping the instance changes no " +
    "settings.",
  examples: [
    ["postern system-proxy on", "Make this desktop use the PAC file of the running instance"],
    ["postern system-proxy off", "Restore the previous settings"],
    ["postern system-proxy status", "Show the settings"],
  ],
  parser: object({
    action: argument(oneOf(["on", "off", "status"], "ACTION"), {
      description: words("on, off or status."),
    }),
    desktop: optional(option("--desktop", oneOf(desktops, "NAME"), {
      description: words("gnome, kde, macos or windows (default: the desktop of this session)."),
    })),
    id: instanceOption(),
  }),
  async run({ action, desktop, id = "default" }, world, context) {
    if (action === "on") return await turnOn(world, { name: desktop, id }, context);
    if (action === "status") return await show(world, desktop, context);
    const { restoreSystemProxy } = await import("../../resolver/mod.ts");
    await tellRestored(world, await restoreSystemProxy(world, context));
  },
});

async function turnOn(
  world: World,
  { name, id }: { readonly name: DesktopName | undefined; readonly id: string },
  { signal }: RunContext,
): Promise<void> {
  const { connectInstance } = await import("../../instances/mod.ts");
  const { pacAddress, setSystemProxy } = await import("../../resolver/mod.ts");
  const { listeners } = await (await connectInstance(world, id, { signal })).status({ signal });
  const url = pacAddress(listeners);
  if (url === undefined) {
    throw new PosternError(
      "config",
      `Cannot set the system proxy: instance "${id}" serves no PAC file on loopback`,
      {
        hint: "add a loopback address to listen.mixed or listen.http",
      },
    );
  }
  const { title, isChanged } = await setSystemProxy(world, { name, id, url }, { signal });
  await world.terminal.err(
    isChanged
      ? `postern: ${title} uses ${url}; restore the previous settings with: postern system-proxy off\n`
      : `postern: nothing to change: ${title} already uses ${url}\n`,
  );
}

async function show(world: World, name: DesktopName | undefined, { signal }: RunContext): Promise<void> {
  const { systemProxy } = await import("../../resolver/mod.ts");
  const { title, pacUrl, state, changed } = await systemProxy(world, { name }, { signal });
  const owner = state === undefined
    ? "not postern"
    : changed.length === 0
    ? `postern (instance ${state.id})`
    : `postern (instance ${state.id}); changed since: ${changed.join(", ")}`;
  const lines = [["desktop", title], ["PAC file", pacUrl ?? "none"], ["set by", owner]];
  await world.terminal.out(
    lines.map(([key = "", value = ""]) => `${key.padEnd(10)}${printable(value)}\n`).join(""),
  );
}

/** Reports which settings are restored, and which were left. */
export async function tellRestored(world: World, outcome: RestoredProxy | undefined): Promise<void> {
  if (!outcome) {
    return await world.terminal.err("postern: nothing to restore: postern did not set the system proxy\n");
  }
  const { title, restored, left } = outcome;
  const lines = [
    ...restored.map((key) => `restored ${title}: ${key}`),
    ...left.map((key) => `kept ${title}: ${key}, which another program changed`),
  ];
  if (lines.length === 0) lines.push(`${title} already has the previous settings`);
  await world.terminal.err(lines.map((line) => `postern: ${printable(line)}\n`).join(""));
}
