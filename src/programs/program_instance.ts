import { isPosternError, PosternError } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import type { ProxyEnvironment } from "../control/mod.ts";
import type { Client } from "../routing/mod.ts";
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
  /** Whether the instance ends with the programs. */
  readonly isPrivate: boolean;
  /** The settings, in the form that all clients understand. */
  readonly environment: ProxyEnvironment;
  /** The settings for one kind of client. */
  environmentFor(client: Client | undefined): Promise<ProxyEnvironment>;
}

/** Uses the running instance; without one, starts an instance in this process on a free loopback port. */
export async function openProgramInstance(
  world: World,
  { config, id, version, log, signal }: ProgramInstanceOptions,
): Promise<ProgramInstance> {
  if (config === undefined || id !== undefined) {
    try {
      const client = await connectInstance(world, id ?? "default", { signal });
      const ask = (kind?: Client) => client.env({ credentials: true, ...(kind && { client: kind }), signal });
      return {
        isPrivate: false,
        environment: await ask(),
        environmentFor: ask,
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
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
  const ask = (client?: Client) =>
    proxyEnvironment(instance.instance.plan, told, { credentials: true, ...(client && { client }) });
  return {
    isPrivate: true,
    environment: ask(),
    environmentFor: (client) => Promise.resolve(ask(client)),
    [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
  };
}
