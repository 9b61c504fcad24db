import { counted, pause, within } from "../core/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { defaultLimits } from "../listeners/mod.ts";
import { connectInstance, isUntrusted } from "./instance_lock.ts";

/** Polling interval in ms. */
const lookEvery = 50;
/** How long an instance may run after its last connection has ended, in ms. */
const grace = 5000;
/** The maximum drain time to wait for, in ms; the instance reports its own. */
const longestDrain = 24 * 60 * 60_000;

interface Stopping {
  readonly id: string;
  readonly pid: number;
  readonly signal: AbortSignal;
}

/** Stops an instance and waits for its end. Throws `timeout` if it runs 5 s longer than its drain limit. */
export async function stopInstance(
  world: World,
  id: string,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const { clock } = world;
  const client = await connectInstance(world, id, { signal, ofAnyVersion: true }).catch((error) => {
    throw notRunning(error, id);
  });
  const { pid } = await client.hello({ signal });
  const { drain = defaultLimits.drain } = await client.stop({ signal }).catch((error) => {
    // An idle instance may end before its answer arrives.
    if (isPosternError(error, "unreachable")) return { drain: 0 };
    throw error;
  });
  const ms = Math.min(drain, longestDrain) + grace;
  const late = new PosternError("timeout", `Cannot stop "${id}": it still runs`);
  try {
    await within({ clock, ms, signal, error: () => late }, async (signal) => {
      while (await isThere(world, { id, pid, signal })) await pause(clock, lookEvery, { signal });
    });
  } catch (error) {
    const failure = error === late ? await stillThere(world, { id, pid, signal }, ms) : error;
    if (failure !== undefined) throw failure;
  }
}

/** The error for an instance that is not running: its usual hint, to start it, is no help here. */
function notRunning(error: unknown, id: string): unknown {
  if (!(error instanceof PosternError) || error.detail !== "no_instance") return error;
  return new PosternError("refused", `Cannot stop instance "${id}": it is not running`, {
    cause: error.cause,
    exit: 3,
    detail: "no_instance",
    hint: isUntrusted(error.cause) ? error.hint : "list running instances: postern status",
  });
}

async function isThere(world: World, { id, pid, signal }: Stopping): Promise<boolean> {
  try {
    const client = await connectInstance(world, id, { signal, ofAnyVersion: true });
    return (await client.hello({ signal })).pid === pid;
  } catch (error) {
    if (isPosternError(error, "refused")) return false;
    // It is closing its control socket or is too busy to answer.
    if (isPosternError(error, "unreachable") || isPosternError(error, "timeout")) return true;
    throw error;
  }
}

/** The timeout error with the instance's state, if known; undefined if the instance has just ended. */
async function stillThere(
  world: World,
  { id, pid, signal }: Stopping,
  ms: number,
): Promise<PosternError | undefined> {
  let doing = "its state is unknown";
  try {
    const client = await connectInstance(world, id, { signal, ofAnyVersion: true });
    const { state, connections } = await client.status({ signal });
    doing = `it is ${state}, with ${counted(connections.open, "connection")} open`;
  } catch (error) {
    if (signal.aborted || !(error instanceof PosternError)) throw error;
    if (isPosternError(error, "refused")) return undefined;
  }
  return new PosternError(
    "timeout",
    `Cannot stop "${id}": process ${pid} still runs after ${Math.round(ms / 1000)} s: ${doing}`,
    { hint: `check it: postern connections --id ${id}; postern logs ${id}; or kill it: kill ${pid}` },
  );
}
