import { object } from "@optique/core/constructs";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { readKnownClusters, tellNotes, trustOption } from "./cluster_options.ts";
import { type Command, defineCommand, type RunContext } from "../line/command.ts";
import execCredential from "./exec_credential.ts";
import { listenerAddress } from "./kubeconfig_output.ts";
import { instanceOption, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";
import { wrapping } from "../line/wrapping.ts";

const where = argument(string({ metavar: "NAME" }), {
  description: words(
    "The cluster: any unique part of its id, display name or API address; - selects the previous one.",
  ),
});

const switchOptions = object({
  name: where,
  force: option("--force", { description: words("Replace entries of the same name for another server.") }),
  trustsFirstUse: trustOption,
  id: instanceOption("Instance to use (default: default)."),
});

/** `postern switch NAME`, as in kharon. */
export const switchCluster: Command = defineCommand({
  name: "switch",
  summary: "Make a cluster the current context of your kubeconfig",
  description:
    "Adds the cluster to the kubeconfig in $KUBECONFIG, else to ~/.kube/config, and makes it the current context for " +
    "every program that reads the file. postern shell NAME affects one shell only and does not change the file.",
  examples: [
    ["postern switch c-lab", "Use c-lab in kubectl from now on"],
    ["postern switch -", "Return to the previous cluster"],
  ],
  parser: switchOptions,
  run: ({ name, ...options }, world, context) =>
    name === "-" ? goBack(world, context) : goTo(name, options, world, context),
});

/** `postern oc-web-login`: the exec plugin in kharon's kubeconfigs; typed by a user, it is `switch`. */
export const ocWebLogin: Command = defineCommand({
  name: "oc-web-login",
  summary: "Switch to a cluster, or sign in as kharon's exec plugin",
  replacement: "postern switch NAME; postern exec-credential --server URL",
  description: "Kubeconfigs that kharon wrote name this command as their exec plugin.",
  examples: [
    ["postern oc-web-login c-lab", "Same as postern switch c-lab"],
    [
      "postern oc-web-login https://api.c-lab.example.net:6443 --exec-credential",
      "Print a token for kubectl",
    ],
  ],
  parser: object({
    where: switchOptions,
    isPlugin: option("--exec-credential", {
      description: words("Sign in and print an ExecCredential for kubectl."),
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
  summary: "Run kubelogin from PATH",
  replacement: "kubelogin",
  description:
    "kharon contains kubelogin. postern does not: it runs the kubelogin in PATH and passes all arguments to it unchanged.",
  examples: [[
    "postern kubelogin get-token --oidc-issuer-url=https://sso.example.net …",
    "Get a token, as kubelogin does",
  ]],
  parser: object({}),
  run: () => Promise.resolve(0),
});

/** `postern kubelogin`, as in kharon. */
export const kubelogin: Command = wrapping({
  ...kubeloginAlone,
  async start(args, world) {
    // All words are kubelogin's and follow `--`.
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
  const fleet = await readKnownClusters(world, context);
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
    throw new PosternError("config", `Cannot switch to ${known.name}: no fact contains its API address`, {
      hint: "look at apiUrl in: postern clusters -o yaml",
    });
  }
  const [path, ...behind] = await writtenKubeconfigs(world);
  await mergeKubeconfigFile(world, path, kubeconfig, { force, behind, signal });
  await makeCurrentHere(known.name, world, signal);
}

async function goBack(world: World, { signal }: RunContext): Promise<void> {
  const former = (await world.files.readTextIfThere(formerPath(world), { limit: 10_000 }))?.trim();
  if (!former) {
    throw new PosternError("usage", "Cannot switch back: no previous cluster is stored", {
      hint: "name the cluster: postern switch NAME",
    });
  }
  await makeCurrentHere(former, world, signal);
}

/** Makes a context current, and stores the previous one for `switch -`. */
async function makeCurrentHere(context: string, world: World, signal: AbortSignal): Promise<void> {
  const { makeCurrent } = await import("../../kube/mod.ts");
  const { writtenKubeconfigs } = await import("../../plan/mod.ts");
  const paths = await writtenKubeconfigs(world);
  const former = await makeCurrent(world, paths, context, { signal });
  if (former !== undefined && former !== context) {
    await world.files.privateDirectory(world.places.state);
    await world.files.replace(formerPath(world), `${former}\n`);
  }
  await world.terminal.err(`postern: switched to ${printable(context)} in ${printable(paths[0])}\n`);
}

function formerPath({ places }: World): string {
  return `${places.state}/switched-from`;
}
