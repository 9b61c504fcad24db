import { asPosternError, type PosternError } from "../words/mod.ts";
import { pause } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import type { ReloadReport } from "../control/mod.ts";
import { connectInstance, instances } from "./instance_lock.ts";

/** The result of a reload in one running instance. */
export type InstanceReload =
  | { readonly id: string; readonly report: ReloadReport }
  | { readonly id: string; readonly error: PosternError };

/** How long to wait for a starting instance in ms; it may have read the old configuration. */
const patience = 10_000;

/** Errors of an instance that needs no reload: it drains or has already ended. */
const leaving: ReadonlySet<PosternError["detail"]> = new Set(["closing", "no_instance", "reset"]);

/** Reloads every running instance of this user over its control socket. */
export async function reloadInstances(
  world: World,
  { signal }: { signal: AbortSignal },
): Promise<InstanceReload[]> {
  const silent: InstanceReload[] = [];
  const unanswered = (id: string, error: unknown) => void silent.push({ id, error: asPosternError(error) });
  const found = await instances(world, { signal, unanswered });
  const reloads = await Promise.all(found.map(({ id }) => reload(world, id, signal)));
  return [...reloads.filter((one) => one !== undefined), ...silent];
}

/** Undefined if the instance is stopping. */
async function reload(world: World, id: string, signal: AbortSignal): Promise<InstanceReload | undefined> {
  const { clock } = world;
  const end = clock.now() + patience;
  while (true) {
    try {
      const client = await connectInstance(world, id, { signal });
      return { id, report: await client.reload({ signal }) };
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asPosternError(thrown);
      if (leaving.has(error.detail)) return undefined;
      if (error.detail !== "starting" || clock.now() >= end) return { id, error };
    }
    await pause(clock, 100, { signal });
  }
}
