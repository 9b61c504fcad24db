import { asPosternError, type PosternError, type World } from "../core/mod.ts";
import type { ReloadReport } from "../listeners/mod.ts";
import { connectInstance, instances } from "./instance.ts";

/** What one running door made of being asked to reload. */
export type InstanceReload =
  | { readonly id: string; readonly report: ReloadReport }
  | { readonly id: string; readonly error: PosternError };

/** Has every running door of this user read its configuration again, by its control socket. */
export async function reloadInstances(
  world: World,
  { signal }: { signal: AbortSignal },
): Promise<InstanceReload[]> {
  const silent: InstanceReload[] = [];
  const unanswered = (id: string, error: unknown) => void silent.push({ id, error: asPosternError(error) });
  const found = await instances(world, { signal, unanswered });
  const reloads = await Promise.all(found.map(async ({ id }): Promise<InstanceReload> => {
    try {
      const client = await connectInstance(world, id, { signal });
      return { id, report: await client.reload({ signal }) };
    } catch (error) {
      signal.throwIfAborted();
      return { id, error: asPosternError(error) };
    }
  }));
  return [...reloads, ...silent];
}
