import type { ControlClient } from "../../control/mod.ts";
import { describe, isPosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { printable } from "../output/printable.ts";

type App = typeof import("../../instance/mod.ts");

/** The configuration to read without a running instance. */
export interface Sources {
  readonly config?: string;
}

/**
 * Asks the running instance. Answers from the configuration when no instance runs or answers, and reports that on
 * stderr. With `--config`, answers from that file.
 */
export async function fromInstanceOrFiles<T>(
  world: World,
  id: string,
  { signal, globals }: Pick<RunContext, "signal" | "globals">,
  { instance, files }: {
    readonly instance: (client: ControlClient) => Promise<T>;
    readonly files: (app: App, sources: Sources) => Promise<T>;
  },
): Promise<T> {
  const app = await import("../../instance/mod.ts");
  const { connectInstance, isUntrusted } = await import("../../instances/mod.ts");
  const { config } = globals;
  if (config !== undefined) {
    await world.terminal.err(`postern: answered from "${config}", not from a running instance\n`);
    return await files(app, { config });
  }
  let client: ControlClient;
  try {
    client = await connectInstance(world, id, { signal });
  } catch (error) {
    const why = isPosternError(error, "refused")
      ? `instance "${id}" is not running`
      : isPosternError(error, "timeout") || isPosternError(error, "unreachable")
      ? `instance "${id}" does not answer`
      : undefined;
    if (why === undefined || signal.aborted) throw error;
    const cause = isPosternError(error, "refused") ? error.cause : undefined;
    if (isUntrusted(cause)) await world.terminal.err(`postern: ${printable(describe(cause))}\n`);
    await world.terminal.err(`postern: ${why}: answered from the configuration\n`);
    return await files(app, {});
  }
  return await instance(client);
}
