import { isPosternError, PosternError } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import type { ProxyEnvironment } from "../control/mod.ts";
import { connectInstance } from "../instances/mod.ts";
import { PrivateInstance } from "./private_instance.ts";
import { proxyEnvironment } from "../instance/mod.ts";

export interface ProgramInstanceOptions {
  /** A configuration that the user named; it gets a separate instance. */
  readonly config?: string | undefined;
  /** The instance that the user named; it must be running. */
  readonly id?: string | undefined;
  readonly version: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * The instance for started programs: the running one, otherwise one inside this process during their
 * lifetime.
 */
export interface ProgramInstance extends AsyncDisposable {
  readonly environment: ProxyEnvironment;
}

/** Uses the running instance; without one, starts an instance in this process on a free loopback port. */
export async function openProgramInstance(
  world: World,
  { config, id, version, log, signal }: ProgramInstanceOptions,
): Promise<ProgramInstance> {
  if (config === undefined || id !== undefined) {
    try {
      const client = await connectInstance(world, id ?? "default", { signal });
      const environment = await client.env({ credentials: true, signal });
      return { environment, [Symbol.asyncDispose]: () => Promise.resolve() };
    } catch (error) {
      const isMissing = isPosternError(error, "refused") && error.detail === "no_instance";
      if (!isMissing || id !== undefined) throw error;
    }
  }
  const instance = await PrivateInstance.open(world, {
    config: { config, overrides: { listen: ["127.0.0.1:0"] } },
    version,
    log,
  });
  const told = instance.instance.told();
  if (!told) {
    await instance[Symbol.asyncDispose]();
    throw new PosternError("internal", "Cannot find the address of the instance");
  }
  return {
    environment: proxyEnvironment(instance.instance.plan, told, { credentials: true }),
    [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
  };
}
