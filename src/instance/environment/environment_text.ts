import { formatTarget, targetOf } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ProxyEnvironment } from "../../control/mod.ts";
import {
  environmentFor,
  type EnvironmentOptions,
  type Shell,
  shellLines,
  undoEnvironment,
} from "../../routing/mod.ts";
import { clientNamed } from "./proxy_environment.ts";

export interface EnvironmentTextOptions {
  readonly shell: Shell;
  readonly client?: string | undefined;
}

/** Shell lines that set the proxy variables, or unset them if `environment` is undefined. */
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
  const { changes, notes } = planOf(environment, current, client);
  return { text: shellLines(changes, shell), notes: [...environment.notes, ...notes] };
}

/** The proxy variables for a program that postern starts, in the most widely understood form. */
export function environmentOfProgram(
  { process }: Pick<World, "process">,
  environment: ProxyEnvironment,
): Record<string, string> {
  const { changes } = planOf(environment, (name) => process.env(name));
  const variables = changes.flatMap((change): [string, string][] => {
    if ("set" in change) return [[change.set, change.value]];
    return "copy" in change ? [[change.to, process.env(change.copy) ?? ""]] : [];
  });
  return Object.fromEntries(variables);
}

function planOf(
  environment: ProxyEnvironment,
  current: (name: string) => string | undefined,
  client?: string,
): ReturnType<typeof environmentFor> {
  const url = new URL(environment.http);
  const kind = clientNamed(client);
  return environmentFor({
    ...listenerOf(environment),
    ...(url.username !== "" && {
      credentials: { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
    }),
    noProxy: environment.noProxy,
    client: kind,
    current,
  });
}

/** The listener's address, and its protocol if it speaks only one. */
export function listenerOf(
  { http, socks }: Pick<ProxyEnvironment, "http" | "socks">,
): Pick<EnvironmentOptions, "listener" | "speaks"> {
  const url = new URL(http);
  const listener = formatTarget(targetOf(url));
  const speaks = url.protocol !== "http:"
    ? "socks"
    : new URL(socks).protocol === "http:"
    ? "http"
    : undefined;
  return { listener, speaks };
}
