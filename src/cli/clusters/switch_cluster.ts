import { object } from "@optique/core/constructs";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { readClusters, tellNotes, trustOption } from "./cluster_options.ts";
import { type Command, defineCommand, type RunContext } from "../line/command.ts";
import execCredential from "./exec_credential.ts";
import { listenerAddress } from "./kubeconfig_output.ts";
import { instanceOption, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";
import { wrapping } from "../line/wrapping.ts";

const where = argument(string({ metavar: "NAME" }), {
  description: words(
    "The cluster: any part of its id, its display name or the address of its API that no other has; - is the former one.",
  ),
});

const switchOptions = object({
  name: where,
  force: option("--force", { description: words("Replaces entries of the same name that lead elsewhere.") }),
  trustsFirstUse: trustOption,
  id: instanceOption("The door to use (default: default)."),
});

/** `postern switch NAME`, as kharon has it. */
export const switchCluster: Command = defineCommand({
  name: "switch",
  summary: "makes a cluster the current one of your kubeconfig",
  description:
    "Adds the cluster to the kubeconfig of KUBECONFIG, else to ~/.kube/config, and makes it current there, for every " +
    "program that reads it. postern clusters NAME shell does that for one shell only, and leaves the file alone.",
  examples: [
    ["postern switch c-lab", "from now on kubectl works in c-lab"],
    ["postern switch -", "and in the former one again"],
  ],
  parser: switchOptions,
  run: ({ name, ...options }, world, context) =>
    name === "-" ? goBack(world, context) : goTo(name, options, world, context),
});

/** `postern oc-web-login`, as kharon has it: in its kubeconfigs as the plugin, by hand as `switch`. */
export const ocWebLogin: Command = defineCommand({
  name: "oc-web-login",
  summary: "the same as switch, or with --exec-credential as exec-credential",
  description: "For whoever comes from kharon: kubeconfigs that it has written name this as their plugin.",
  examples: [
    ["postern oc-web-login c-lab", "the same as postern switch c-lab"],
    [
      "postern oc-web-login https://api.c-lab.example.net:6443 --exec-credential",
      "prints a token for kubectl",
    ],
  ],
  parser: object({
    where: switchOptions,
    isPlugin: option("--exec-credential", {
      description: words("Signs in, and prints what kubectl wants of a plugin."),
    }),
  }),
  async run({ where: { name, ...options }, isPlugin }, world, context) {
    if (!isPlugin) return await goTo(name, options, world, context);
    const config = context.globals.config === undefined ? [] : ["--config", context.globals.config];
    return await execCredential.start([...config, "--server", name], world, context);
  },
});

const kubeloginAlone = defineCommand({
  name: "kubelogin",
  summary: "runs kubelogin, which kharon has inside",
  description: "All that stands behind is given to the kubelogin of PATH as it is.",
  examples: [[
    "postern kubelogin get-token --oidc-issuer-url=https://sso.example.net …",
    "what kubelogin prints",
  ]],
  parser: object({}),
  run: () => Promise.resolve(0),
});

/** `postern kubelogin`, as kharon has it. */
export const kubelogin: Command = wrapping({
  ...kubeloginAlone,
  async start(args, world) {
    // All words are its own, and stand behind `--`.
    const { signal } = new AbortController();
    return await world.process.attached(["kubelogin", ...args.slice(1)], { signal });
  },
});

interface SwitchOptions {
  readonly force: boolean;
  readonly trustsFirstUse: boolean;
  readonly id: string | undefined;
}

async function goTo(
  name: string,
  { force, trustsFirstUse, id = "default" }: SwitchOptions,
  world: World,
  context: RunContext,
): Promise<void> {
  const { signal } = context;
  const fleet = await readClusters(world, context);
  const { findCluster } = await import("../../clusters/mod.ts");
  const { kubeconfigOf, mergeKubeconfigFile } = await import("../../kube/mod.ts");
  const known = findCluster(fleet.clusters, name);
  const proxyUrl = await listenerAddress(world, id, { credentials: true, context });
  const { apiAuthorities } = await import("../../programs/mod.ts");
  const { writtenKubeconfigs } = await import("../../plan/mod.ts");
  const authorities = await apiAuthorities(world, [known], { proxyUrl, trustsFirstUse, signal });
  const { kubeconfig, notes } = kubeconfigOf([known], {
    proxyUrl,
    credentials: true,
    authorities: authorities.byName,
    self: world.process.self,
    rulesFor: fleet.rulesFor,
  });
  await tellNotes(world, [...authorities.notes, ...notes]);
  if (kubeconfig.clusters.length === 0) {
    throw new PosternError("config", `Cannot go to ${known.name}: the address of its API is not known`, {
      hint: "see what is known of it: postern clusters -o yaml",
    });
  }
  const [path, ...behind] = await writtenKubeconfigs(world);
  await mergeKubeconfigFile(world, path, kubeconfig, { force, behind, signal });
  await makeCurrentHere(known.name, world, signal);
}

async function goBack(world: World, { signal }: RunContext): Promise<void> {
  const former = (await world.files.readTextIfThere(formerPath(world), { limit: 10_000 }))?.trim();
  if (!former) {
    throw new PosternError("usage", "Cannot go back: postern has switched nothing here", {
      hint: "postern switch NAME",
    });
  }
  await makeCurrentHere(former, world, signal);
}

/** What was current is remembered for `switch -`. */
async function makeCurrentHere(context: string, world: World, signal: AbortSignal): Promise<void> {
  const { makeCurrent } = await import("../../kube/mod.ts");
  const { writtenKubeconfigs } = await import("../../plan/mod.ts");
  const paths = await writtenKubeconfigs(world);
  const former = await makeCurrent(world, paths, context, { signal });
  if (former !== undefined && former !== context) {
    await world.files.privateDirectory(world.places.state);
    await world.files.replace(formerPath(world), `${former}\n`);
  }
  await world.terminal.err(`postern: ${printable(context)} is current in ${printable(paths[0])}\n`);
}

function formerPath({ places }: World): string {
  return `${places.state}/switched-from`;
}
