import { formatTarget, isPosternError, PosternError, type Target } from "../words/mod.ts";
import { within } from "../core/mod.ts";
import type { World } from "../world/mod.ts";

/** Time limit for connecting to a server of an instance, in ms. */
const answersWithin = 2000;

/** Whether a server accepts connections at an address. Throws if this process may not connect there. */
export async function answersAt(
  { network, clock }: Pick<World, "network" | "clock">,
  server: Target,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  const error = () => new PosternError("timeout", `Cannot reach ${formatTarget(server)}: no answer in time`);
  try {
    const conn = await within(
      { clock, ms: answersWithin, signal, error },
      (signal) => network.connect(server, { signal }),
    );
    await conn[Symbol.asyncDispose]();
    return true;
  } catch (error) {
    if (signal.aborted || !(error instanceof PosternError) || isPosternError(error, "not_allowed")) {
      throw error;
    }
    return false;
  }
}
