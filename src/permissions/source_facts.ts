import type { Places } from "../world/mod.ts";
import { parentOf } from "./named_places.ts";

/** Facts about the machine that runs a command. */
export interface SourceFacts {
  /** The platform's directories. */
  readonly directories: Pick<Places, "config" | "state" | "cache" | "runtime" | "home">;
  /** The path of Deno, which starts an instance in the background. */
  readonly self: string;
  readonly directory?: () => string;
  readonly platform: string;
  /** The existing control sockets. */
  readonly sockets?: readonly string[];
  /** The socket directory of earlier versions; read-only unless only this user can write to it. */
  readonly former?: { readonly path: string; readonly isOurs: boolean } | undefined;
  /** The values of SHELL, SSH_ASKPASS and SSH_AUTH_SOCK. */
  readonly shell?: string | undefined;
  readonly askpass?: string | undefined;
  readonly agent?: string | undefined;
  /** The command line in POSTERN_BROWSER, KHARON_BROWSER or BROWSER. */
  readonly browser?: string | undefined;
  /** The root of the system's files, if not `/`. */
  readonly system?: string | undefined;
  /** The value of KUBECONFIG. */
  readonly kubeconfig?: string | undefined;
  /** Additional programs that postern may start, from `--allow-run` before the command. */
  readonly programs?: readonly string[];
}

/** The variable with additional programs that postern may start, separated by commas. */
export const programsVariable = "POSTERN_ALLOW_RUN";

/** Combines known facts with those from the environment. */
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

/** Replaces a name in braces by its paths or programs. */
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
    const directory = `${parentOf(directories.config)}/systemd`;
    return [platform === "darwin" ? `${directories.home}/Library/LaunchAgents` : directory];
  }
  if (name === "{serviceLogs}") return platform === "darwin" ? [`${directories.home}/Library/Logs`] : [];
  if (name === "{resolver}") return resolverDirectories.map((directory) => `${system}${directory}`);
  if (name === "{agent}") return agent ? [agent] : [];
  if (name === "{browser}") return [browserProgram(browser, platform)];
  if (name === "{kube}") {
    // Which file postern writes depends on which files exist.
    const named = (kubeconfig ?? "").split(platform === "windows" ? ";" : ":").filter((path) => path !== "");
    return [...new Set([`${directories.home}/.kube`, ...named.map(parentOf)])];
  }
  const places: Record<string, string> = { ...directories, self };
  return [name.replace(/^\{(\w+)\}$/, (whole, place: string) => places[place] ?? whole)];
}

/** The directories that systemd-resolved and the resolver of macOS read, and `dns --apply` writes. */
const resolverDirectories = ["/etc/systemd/resolved.conf.d", "/etc/systemd/dns-delegate.d", "/etc/resolver"];

/** The first word of the environment's command line, else the platform's opener. */
function browserProgram(line: string | undefined, platform: string): string {
  const [, quoted, word] = /^\s*(?:["']([^"']+)["']|(\S+))/.exec(line ?? "") ?? [];
  const usual: Record<string, string> = { darwin: "open", windows: "rundll32" };
  return quoted ?? word ?? usual[platform] ?? "xdg-open";
}
