import { formatTarget, targetOf } from "../../words/mod.ts";
import { absoluteFrom, type World } from "../../world/mod.ts";
import type { ProxyEnvironment } from "../../control/mod.ts";
import {
  type Client,
  environmentFor,
  type EnvironmentOptions,
  type ProgramKind,
  type Shell,
  shellLines,
  undoEnvironment,
} from "../../routing/mod.ts";

export interface ProgramOptions {
  /** The programs; if undefined, all that read proxy variables. */
  readonly programs?: ProgramKind | undefined;
  readonly socks?: boolean | undefined;
  /** The instance's id and the configuration, if the user named them. */
  readonly id?: string | undefined;
  readonly config?: string | undefined;
}

export interface EnvironmentTextOptions extends ProgramOptions {
  readonly shell: Shell;
}

/** The settings of an instance for a set of programs: Java has another syntax for exceptions. */
export interface ProgramEnvironment {
  readonly portable: ProxyEnvironment;
  readonly java?: ProxyEnvironment | undefined;
}

/** Asks for the settings that these programs need, once or twice; older instances know four kinds of client. */
export async function environmentsOf(
  programs: ProgramKind | undefined,
  ask: (client: Client | undefined) => Promise<ProxyEnvironment>,
): Promise<ProgramEnvironment> {
  const portable = await ask(programs && clientOf[programs]);
  return programs === "all" ? { portable, java: await ask("java") } : { portable };
}

const clientOf: Record<ProgramKind, Client | undefined> = {
  go: "go",
  curl: "curl",
  git: "curl",
  python: "python",
  java: "java",
  jdbc: "java",
  node: undefined,
  ssh: undefined,
  all: undefined,
};

/** Shell lines that set the proxy variables, or unset them if `environment` is undefined. */
export function renderEnvironment(
  world: Pick<World, "process">,
  environment: ProgramEnvironment | undefined,
  { shell, ...options }: EnvironmentTextOptions,
): { text: string; notes: readonly string[] } {
  if (!environment) {
    const { changes, notes } = undoEnvironment((name) => world.process.env(name));
    return { text: shellLines(changes, shell), notes };
  }
  const { changes, notes } = planOf(world, environment, options);
  return { text: shellLines(changes, shell), notes: [...environment.portable.notes, ...notes] };
}

/** The proxy variables for a program that postern starts. */
export function environmentOfProgram(
  world: Pick<World, "process">,
  environment: ProgramEnvironment,
  options: ProgramOptions = {},
): Record<string, string> {
  const { changes } = planOf(world, environment, options);
  const variables = changes.flatMap((change): [string, string][] => {
    if ("set" in change) return [[change.set, change.value]];
    return "copy" in change ? [[change.to, world.process.env(change.copy) ?? ""]] : [];
  });
  return Object.fromEntries(variables);
}

function planOf(
  { process }: Pick<World, "process">,
  { portable, java }: ProgramEnvironment,
  { programs, socks, id, config }: ProgramOptions,
): ReturnType<typeof environmentFor> {
  const url = new URL(portable.http);
  return environmentFor({
    ...listenerOf(portable),
    ...(url.username !== "" && {
      credentials: { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
    }),
    noProxy: programs && clientOf[programs] && programs !== "python"
      ? portable.noProxy
      : portable.noProxy.filter(isReadable),
    javaNoProxy: java?.noProxy,
    programs,
    socks,
    id,
    config: config && absoluteFrom(process.directory, config),
    // Without programs that run ssh, the command may lack the permission to name itself.
    ...(programs && runsSsh.includes(programs) && { self: process.self }),
    current: (name) => process.env(name),
  });
}

/** Instances of earlier versions also list IPv6 networks and brackets, which httpx fails to read. */
export function isReadable(item: string): boolean {
  return !/^\[|:.*\//.test(item);
}

const runsSsh: readonly ProgramKind[] = ["ssh", "git", "all"];

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
