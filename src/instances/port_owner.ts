import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import type { Status } from "../control/mod.ts";
import { connectInstance, instances } from "./instance_lock.ts";

/** Adds a hint to a bind error if one of our instances uses the address. */
export async function withOwner(world: World, error: unknown): Promise<unknown> {
  if (!(error instanceof PosternError) || error.detail !== "in_use") return error;
  const { signal } = new AbortController();
  // An instance that hangs, stops or runs a newer postern must not hide the others.
  for (const { id, pid } of await instances(world, { signal, unanswered: () => {} })) {
    const listeners = await listenersOf(world, id, { signal }).catch(() => []);
    if (!listeners.some(({ address }) => isInTheWay(address, error.message))) continue;
    return error.with({
      hint:
        `use another address, or stop instance "${id}" (pid ${pid}), which listens there: postern stop ${id}`,
    });
  }
  return error;
}

/** Whether a listener has the address of a bind error, or the wildcard address with its port. */
function isInTheWay(address: string, message: string): boolean {
  const [, port] = /^(?:0\.0\.0\.0|\[::\]):([0-9]+)$/.exec(address) ?? [];
  return message.includes(` ${address}:`) || (port !== undefined && message.includes(`:${port}: address`));
}

async function listenersOf(
  world: World,
  id: string,
  { signal }: { signal: AbortSignal },
): Promise<Status["listeners"]> {
  return (await (await connectInstance(world, id, { signal })).status({ signal })).listeners;
}
