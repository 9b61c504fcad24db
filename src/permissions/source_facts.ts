import type { Places } from "../world/mod.ts";
import { directoryOf } from "./named_places.ts";

/** What is only known where a command is run. */
export interface SourceFacts {
  /** The platform's. */
  readonly directories: Pick<Places, "config" | "state" | "cache" | "runtime" | "home">;
  /** Deno itself, with which a door starts itself in the background. */
  readonly self: string;
  /** Tells the working directory. */
  readonly directory?: () => string;
  readonly platform: string;
  /** The control sockets there are. */
  readonly sockets?: readonly string[];
  /** Where an earlier postern has its sockets; a command may only look there, unless the directory is ours alone. */
  readonly former?: { readonly path: string; readonly isOurs: boolean } | undefined;
  /** What SHELL, SSH_ASKPASS and SSH_AUTH_SOCK name. */
  readonly shell?: string | undefined;
  readonly askpass?: string | undefined;
  readonly agent?: string | undefined;
  /** What POSTERN_BROWSER, KHARON_BROWSER or BROWSER name, a command line. */
  readonly browser?: string | undefined;
  /** Where the system's files begin, if not at the root. */
  readonly system?: string | undefined;
  /** What KUBECONFIG names. */
  readonly kubeconfig?: string | undefined;
  /** Programs that a person lets postern start besides: `--allow-run` before the command. */
  readonly programs?: readonly string[];
}

/** Names programs that a person lets postern start besides, with commas between them. */
export const programsVariable = "POSTERN_ALLOW_RUN";

/** The facts that the environment tells, and these. */
export function sourceFacts(
  known: Pick<SourceFacts, "directories" | "self" | "directory" | "platform" | "sockets" | "former">,
  env: (name: string) => string | undefined,
): SourceFacts {
  return {
    ...known,
    shell: env("SHELL"),
    askpass: env("SSH_ASKPASS"),
    agent: env("SSH_AUTH_SOCK"),
    browser: env("POSTERN_BROWSER") || env("KHARON_BROWSER") || env("BROWSER"),
    kubeconfig: env("KUBECONFIG"),
    system: env("POSTERN_ROOT"),
    programs: (env(programsVariable) ?? "").split(",").filter(Boolean),
  };
}

export function fill(
  name: string,
  { directories, self, platform, sockets = [], system = "", shell, askpass, agent, browser, kubeconfig }:
    SourceFacts,
): readonly string[] {
  if (name === "{control}") return sockets.map((path) => `unix:${path}`);
  if (name === "{ssh}") return [`${directories.home}/.ssh`];
  if (name === "{shell}") return ["/bin/sh", ...(shell ? [shell] : [])];
  if (name === "{askpass}") return askpass ? [askpass] : [];
  if (name === "{services}") {
    const directory = `${directoryOf(directories.config)}/systemd`;
    return [platform === "darwin" ? `${directories.home}/Library/LaunchAgents` : directory];
  }
  if (name === "{serviceLogs}") return platform === "darwin" ? [`${directories.home}/Library/Logs`] : [];
  if (name === "{resolver}") return resolverDirectories.map((directory) => `${system}${directory}`);
  if (name === "{agent}") return agent ? [agent] : [];
  if (name === "{browser}") return [browserProgram(browser, platform)];
  if (name === "{kube}") {
    // Which of them is written to depends on which of them exist.
    const named = (kubeconfig ?? "").split(platform === "windows" ? ";" : ":").filter((path) => path !== "");
    return [...new Set([`${directories.home}/.kube`, ...named.map(directoryOf)])];
  }
  const places: Record<string, string> = { ...directories, self };
  return [name.replace(/^\{(\w+)\}$/, (whole, place: string) => places[place] ?? whole)];
}

/** What systemd-resolved and the resolver of macOS read, as `dns --apply` writes it. */
const resolverDirectories = ["/etc/systemd/resolved.conf.d", "/etc/systemd/dns-delegate.d", "/etc/resolver"];

/** The first word of what the environment says, else what the platform has for it. */
function browserProgram(line: string | undefined, platform: string): string {
  const [, quoted, word] = /^\s*(?:["']([^"']+)["']|(\S+))/.exec(line ?? "") ?? [];
  const usual: Record<string, string> = { darwin: "open", windows: "rundll32" };
  return quoted ?? word ?? usual[platform] ?? "xdg-open";
}
