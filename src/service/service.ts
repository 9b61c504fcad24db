import { directoryOf, type World } from "../world/mod.ts";
import { asCause, PosternError } from "../words/mod.ts";
import {
  domain,
  type ManagerCommand,
  type ManagerRun,
  runAll,
  runManager,
  systemctl,
} from "./service_manager.ts";
import {
  installedFiles,
  nameOf,
  type RemovalPlan,
  type ServicePlan,
  servicePlatform,
} from "./service_plan.ts";

/** Writes the files and starts the service; reports each step. */
export async function installService(
  world: World,
  plan: ServicePlan,
  { signal, tell }: ManagerRun,
): Promise<void> {
  const refused = await runAll(world, plan.before, { signal, tell });
  if (refused !== undefined) await tell(`note: ${refused}`);
  for (const path of plan.removed) {
    await world.files.remove(path);
    await tell(`removed ${path}`);
  }
  for (const { path, content, state } of plan.files) {
    if (state === "same") {
      await tell(`${path} is unchanged`);
      continue;
    }
    const directory = directoryOf(path);
    if (!await world.files.info(directory)) await world.files.privateDirectory(directory);
    await world.files.replace(path, content, { mode: 0o644 });
    await tell(`wrote ${path}`);
  }
  const failure = await runAll(world, plan.after, { signal, tell });
  if (failure === undefined) return;
  throw new PosternError("internal", `Cannot start the service: ${asCause(failure)}`, {
    exit: 1,
    hint: `the files are written; fix the cause, then run: ${
      plan.after.map((command) => command.join(" ")).join("; ")
    }`,
  });
}

/** Stops the service and removes its files. Reports a failure of the service manager and continues. */
export async function removeService(
  world: World,
  { removed, before, after }: RemovalPlan,
  { signal, tell }: ManagerRun,
): Promise<void> {
  const refused = await runAll(world, before, { signal, tell });
  for (const path of removed) {
    await world.files.remove(path);
    await tell(`removed ${path}`);
  }
  const failure = await runAll(world, after, { signal, tell });
  for (const note of [refused, failure]) if (note !== undefined) await tell(`note: ${note}`);
}

/** One file of the service with its state in the service manager. */
export interface ServiceState {
  readonly name: string;
  readonly path: string;
  readonly enabled: string;
  readonly active: string;
}

/** The installed files of the service; `unknown` if the service manager does not answer. */
export async function serviceStates(
  world: World,
  { signal }: { signal: AbortSignal },
): Promise<ServiceState[]> {
  const platform = servicePlatform(world);
  const states: ServiceState[] = [];
  for (const path of await installedFiles(world)) {
    const name = nameOf(path);
    const ask = async (...command: ManagerCommand) => {
      const answer = await runManager(world, command, { signal });
      return "missing" in answer
        ? "unknown"
        : answer.stdout.trim() || (answer.code === 0 ? "yes" : "unknown");
    };
    if (platform === "darwin") {
      const answer = await runManager(world, ["launchctl", "print", `${domain(world)}/${name}`], { signal });
      const state = "missing" in answer ? "unknown" : answer.code === 0 ? "loaded" : "not loaded";
      states.push({ name, path, enabled: state, active: state });
    } else {
      states.push({
        name,
        path,
        enabled: await ask(...systemctl("is-enabled", name)),
        active: await ask(...systemctl("is-active", name)),
      });
    }
  }
  return states;
}
