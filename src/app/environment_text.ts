import type { World } from "../core/mod.ts";
import type { ProxyEnvironment } from "../listeners/mod.ts";
import { environmentFor, type Shell, shellLines, undoEnvironment } from "../routing/mod.ts";
import { clientNamed } from "./proxy_environment.ts";

export interface EnvironmentTextOptions {
  readonly shell: Shell;
  readonly client?: string | undefined;
}

/** Lines for a shell that set the proxy variables, or take them back where there is no environment to set. */
export function renderEnvironment(
  { process }: Pick<World, "process">,
  environment: ProxyEnvironment | undefined,
  { shell, client }: EnvironmentTextOptions,
): { text: string; notes: readonly string[] } {
  const current = (name: string) => process.env(name);
  if (!environment) {
    const { changes, notes } = undoEnvironment(current);
    return { text: shellLines(changes, shell), notes };
  }
  const url = new URL(environment.http);
  const kind = clientNamed(client);
  const { changes, notes } = environmentFor({
    door: url.host,
    ...(url.username !== "" && {
      credentials: { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
    }),
    noProxy: environment.noProxy,
    ...(kind !== undefined && { client: kind }),
    current,
  });
  return { text: shellLines(changes, shell), notes: [...environment.notes, ...notes] };
}
