import { connectInstance } from "../instances/mod.ts";
import { listenOf, loadConfig, type Settings } from "../plan/mod.ts";
import { pacAddress, readProxyState } from "../resolver/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import { installedFiles } from "../service/mod.ts";
import { formatEndpoint, formatTarget, isPosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import type { SetupPlan } from "./setup.ts";

/** At most three lines for the user to type after the configuration is written. */
export async function nextSteps(
  world: World,
  { path, after, proposal }: SetupPlan,
  { config, signal }: { readonly config?: string | undefined; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const { settings } = await loadConfig(world, { text: after, config: path });
  const pac = pacOf(settings);
  const postern = config === undefined ? "postern" : `postern --config ${config}`;
  const steps: string[] = [];
  if (proposal.catalogues.length > 0) steps.push(`fetch the clusters of the catalogue: ${postern} update`);
  if (!await isStarted(world, signal)) {
    steps.push(
      await hasServices(world)
        ? `start postern whenever a program needs it: ${postern} service install`
        : `start postern: ${postern} proxy --background`,
    );
  }
  if (pac !== undefined) steps.push(await useOf(world, pac));
  const host = exampleHost(proposal);
  if (host !== undefined) steps.push(`see the path to a host: postern explain --dial ${host}`);
  return steps.slice(0, 3);
}

/** How the programs of this machine use the instance. */
async function useOf(world: World, pac: string): Promise<string> {
  const { platform, env } = world.process;
  const hasDesktop = platform !== "linux" || Boolean(env("XDG_CURRENT_DESKTOP"));
  const browser = !hasDesktop
    ? `; in a browser, set the PAC file ${pac}`
    : await readProxyState(world)
    ? ""
    : "; in browsers: postern system-proxy on";
  return `in this shell: eval "$(postern env)"${browser}`;
}

/** The address of the PAC file once an instance runs. */
function pacOf(settings: Settings): string | undefined {
  const { mixed = [], http = [], auth } = listenOf(settings);
  return pacAddress(
    [...mixed, ...http].flatMap(({ address, auth: own = auth }) =>
      address.sockets.map(({ endpoint }) => ({
        kind: "mixed",
        address: formatEndpoint(endpoint),
        auth: own !== undefined,
      }))
    ),
  );
}

/** Whether an instance runs, or starts when a program connects. */
async function isStarted(world: World, signal: AbortSignal): Promise<boolean> {
  if (world.process.platform !== "windows" && (await installedFiles(world)).length > 0) return true;
  try {
    const client = await connectInstance(world, "default", { signal });
    await client.status({ signal });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // Another failure means that an instance exists, which another command explains.
    return !isPosternError(error, "refused");
  }
}

/** Whether the service manager of `postern service install` runs. */
async function hasServices({ files, places, process }: World): Promise<boolean> {
  if (process.platform === "darwin") return true;
  if (process.platform !== "linux") return false;
  return await files.info(`${places.system ?? ""}/run/systemd/system`).catch(() => undefined) !== undefined;
}

/** A host that a new route is for. */
function exampleHost({ routes }: SetupPlan["proposal"]): string | undefined {
  const route = routes.find(({ isGuess, via }) => !isGuess && via !== "direct" && via !== "reject");
  if (!route) return undefined;
  if (route.example) return formatTarget(route.example);
  const parsed = parsePattern(route.to.at(-1) ?? "");
  return "pattern" in parsed && parsed.pattern.kind === "name"
    ? `SERVICE.NAMESPACE.${parsed.pattern.name}:PORT`
    : undefined;
}
