import type { Log } from "../core/mod.ts";
import { describe, isPosternError, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import type { BoundForward, ControlClient } from "../control/mod.ts";
import { checkedForwards, type WrittenForward } from "../listeners/mod.ts";
import { connectInstance, isUntrusted } from "../instances/mod.ts";
import { PrivateInstance } from "./private_instance.ts";

export interface ForwardsOptions {
  readonly asked: { readonly forwards: readonly WrittenForward[]; readonly allowOpen: boolean };
  /** A configuration that the user named, without an instance; the command then forwards by itself. */
  readonly config?: string | undefined;
  /** The instance that the user named; it must be running. */
  readonly id?: string | undefined;
  readonly version: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called with a reason when the command forwards by itself. */
  readonly alone: (reason: string) => Promise<void>;
  /** Called with the bound addresses, and the instance that listens; undefined for the command itself. */
  readonly bound: (forwards: readonly BoundForward[], instance: string | undefined) => Promise<void>;
}

/**
 * Keeps forwards open until the signal aborts: in the running instance, or in this process without one. Throws
 * when the instance stops.
 */
export async function keepForwards(world: World, options: ForwardsOptions): Promise<void> {
  const { asked, config, id, signal, alone } = options;
  // A mistake in the words is the same error with and without an instance.
  checkedForwards(asked);
  if (config !== undefined) {
    await alone(`"${config}" applies only to this command`);
    return await forwardAlone(world, options);
  }
  const name = id ?? "default";
  let client: ControlClient;
  try {
    client = await connectInstance(world, name, { signal });
  } catch (error) {
    const isMissing = isPosternError(error, "refused") && error.detail === "no_instance";
    if (!isMissing || id !== undefined) throw error;
    // Another user may have put a socket at the instance's path.
    if (isUntrusted(error.cause)) await alone(describe(error.cause));
    else await alone(`instance "${name}" is not running`);
    return await forwardAlone(world, options);
  }
  try {
    await client.forward(asked, async (forwards) => {
      // The instance dials: this process needs no programs from here on.
      world.process.keepOnly({ ssh: false, plugins: [], resolver: false });
      await options.bound(forwards, name);
    }, { signal });
  } catch (error) {
    if (isPosternError(error, "cancelled") && !signal.aborted) throw stopped(name, error);
    const why = signal.aborted ? undefined : whyAlone(error, name);
    if (why === undefined) throw error;
    await alone(why);
    return await forwardAlone(world, options);
  }
  throw stopped(name);
}

function stopped(name: string, cause?: unknown): PosternError {
  return new PosternError("refused", `Cannot keep the forwards: instance "${name}" has stopped`, {
    cause,
    exit: 1,
    hint: "run the command again: without an instance, it forwards by itself",
  });
}

/** Why an instance cannot forward for a command; undefined for other failures. */
function whyAlone(error: unknown, name: string): string | undefined {
  // Each version of postern begins this error alike, whatever its reason says.
  if (isPosternError(error, "usage") && error.message.startsWith("Cannot answer /v1/forward:")) {
    return `instance "${name}" runs an older postern`;
  }
  // A confined instance writes to known directories only.
  return isPosternError(error, "not_allowed") ? `instance "${name}" may not listen there` : undefined;
}

async function forwardAlone(world: World, options: ForwardsOptions): Promise<void> {
  const { asked, config, version, log, signal, bound } = options;
  await using own = await PrivateInstance.open(world, {
    config: { ...(config !== undefined && { config }) },
    listen: { mixed: [], forward: checkedForwards(asked), allowOpen: asked.allowOpen },
    asks: "terminal",
    version,
    log,
  });
  const { instance } = own;
  await instance.narrow();
  const forwards = instance.status().listeners.flatMap(({ address, target }) =>
    target === undefined ? [] : [{ address, target }]
  );
  await bound(forwards, undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  await promise;
}
