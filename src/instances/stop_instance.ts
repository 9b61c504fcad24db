import { counted, pause, within } from "../core/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { defaultLimits } from "../listeners/mod.ts";
import { connectInstance } from "./instance_lock.ts";

/** How often to look whether the instance has gone, in ms. */
const lookEvery = 50;
/** How long it may take to end once its connections have, in ms. */
const grace = 5000;
/** The longest drain that is waited for, in ms: the instance itself says how long that is. */
const longestDrain = 24 * 60 * 60_000;

interface Stopping {
  readonly id: string;
  readonly pid: number;
  readonly signal: AbortSignal;
}

/** Ends an instance; resolves when it has gone. One that goes on longer than its drain limit and 5 s is `timeout`. */
export async function stopInstance(
  world: World,
  id: string,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const { clock } = world;
  const client = await connectInstance(world, id, { signal, ofAnyVersion: true });
  const { pid } = await client.hello({ signal });
  const { drain = defaultLimits.drain } = await client.stop({ signal }).catch((error) => {
    // An instance without connections may be gone before its answer is.
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

async function isThere(world: World, { id, pid, signal }: Stopping): Promise<boolean> {
  try {
    const client = await connectInstance(world, id, { signal, ofAnyVersion: true });
    return (await client.hello({ signal })).pid === pid;
  } catch (error) {
    if (isPosternError(error, "refused")) return false;
    // It is just closing its control socket, or too busy to answer.
    if (isPosternError(error, "unreachable") || isPosternError(error, "timeout")) return true;
    throw error;
  }
}

/** The failure, with what the instance is doing where it says so; none where it has gone in this very moment. */
async function stillThere(
  world: World,
  { id, pid, signal }: Stopping,
  ms: number,
): Promise<PosternError | undefined> {
  let doing = "it does not tell its state";
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
    { hint: `see what it does: postern connections --id ${id}; postern logs ${id}; or end it: kill ${pid}` },
  );
}
