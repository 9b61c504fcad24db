import { describe, formatTarget } from "../words/mod.ts";
import { answersAt, pacTarget, readProxyState } from "../resolver/mod.ts";
import type { World } from "../world/mod.ts";
import type { Finding } from "./doctor.ts";

/** Whether the PAC file that `system-proxy on` set can still be fetched. */
export async function* systemProxyFindings(
  world: World,
  { signal }: { signal: AbortSignal },
): AsyncGenerator<Finding> {
  const name = "system proxy";
  try {
    const state = await readProxyState(world);
    if (!state) return;
    const target = pacTarget(state);
    if (await answersAt(world, target, { signal })) {
      yield { name, state: "ok", detail: `uses ${state.url} of instance "${state.id}"` };
      return;
    }
    yield {
      name,
      state: "failed",
      detail: `uses ${state.url}, but nothing answers at ${formatTarget(target)}`,
      hint: "start the instance, or restore the previous settings: postern system-proxy off",
    };
  } catch (error) {
    if (signal.aborted) throw error;
    yield { name, state: "warning", detail: describe(error) };
  }
}
