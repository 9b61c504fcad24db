import type { Needs, Process } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import type { LoadedConfig, Plan } from "../../plan/mod.ts";

/**
 * The rights that a configuration needs; the programs for signing in are known only after its kubeconfigs are
 * read.
 */
export function needsOfConfig({ settings }: LoadedConfig): Needs {
  const kinds = Object.values(settings.transports).map(({ kind }) => kind);
  return {
    // A catalogue may add jump hosts later.
    ssh: kinds.includes("ssh") || (settings.catalogues ?? []).length > 0,
    plugins: kinds.includes("kubernetes") ? "any" : [],
    resolver: true,
  };
}

/** The rights that a plan needs, with the programs that its kubeconfigs name. */
export async function needsOfPlan({ config, transports }: Plan): Promise<Needs> {
  const plugins = await programsOf([...transports.byName.values()]);
  return { ...needsOfConfig(config), plugins };
}

/**
 * Fails if the next plan needs a right that this process has dropped: a running process cannot get it back.
 */
export async function demandRights(
  process: Pick<Process, "missing">,
  { config, transports }: Plan,
  before: Plan,
): Promise<void> {
  const known = new Set(before.transports.byName.values());
  const added = [...transports.byName.values()].filter((built) => !known.has(built));
  for (const { name, type, transport } of added) {
    const plugins = await transport.programs?.() ?? [];
    refuse(process, { ssh: type === "ssh", plugins, resolver: false }, `the transport "${name}"`);
  }
  const { ssh } = needsOfConfig(config);
  refuse(process, { ssh, plugins: [], resolver: false }, "a catalogue");
}

function refuse(process: Pick<Process, "missing">, needs: Needs, what: string): void {
  const missing = process.missing(needs);
  if (missing === undefined) return;
  const right = missing === "ssh" ? "ssh" : `the program "${missing}"`;
  const why = `${what} needs ${right}, and this instance dropped that right at startup`;
  throw new PosternError("not_allowed", `Cannot apply the configuration: ${why}`, {
    hint: "restart the instance",
  });
}

async function programsOf(all: readonly BuiltTransport[]): Promise<Needs["plugins"]> {
  const programs = new Set<string>();
  for (const { transport } of all) {
    const named = await transport.programs?.() ?? [];
    if (named === "any") return "any";
    for (const program of named) programs.add(program);
  }
  return [...programs];
}
