import { expandSshTokens, expandTilde, type SshTokens } from "./language/ssh_config_tokens.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";
import type { GivenSshOption, SshProblems } from "./ssh_settings.ts";

/** The values for expanding a path; without tokens, only `~` is expanded. */
export interface SshPathContext {
  readonly tokens?: SshTokens;
  readonly deps: SshConfigDeps;
  readonly problems: SshProblems;
}

/** The expanded paths of an option; empty for `none`, undefined when the option is absent. */
export function expandedSshPaths(
  given: GivenSshOption | undefined,
  context: SshPathContext,
): readonly string[] | undefined {
  return given?.values
    .filter((value) => value.toLowerCase() !== "none")
    .flatMap((value) => expandedPath(value, given, context) ?? []);
}

export function sshAgentSocket(
  given: GivenSshOption | undefined,
  context: SshPathContext & { readonly tokens: SshTokens },
): string | undefined {
  const { env } = context.deps;
  const [value] = given?.values ?? [];
  if (!given || value === undefined || value === "SSH_AUTH_SOCK") return env("SSH_AUTH_SOCK") || undefined;
  if (value.toLowerCase() === "none") return undefined;
  if (/^\$[A-Za-z_]\w*$/.test(value)) return env(value.slice(1)) || undefined;
  if (/^\$(?!\{)/.test(value)) {
    const message = `"${value}" is not a variable name`;
    context.problems.add("blocking", given, { option: given.option.name, message });
    return undefined;
  }
  return expandedPath(value, given, context);
}

function expandedPath(
  value: string,
  given: GivenSshOption,
  { tokens, deps, problems }: SshPathContext,
): string | undefined {
  const tilde = expandTilde(value, deps);
  const expanded = "fault" in tilde || !tokens
    ? tilde
    : expandSshTokens(tilde.text, tokens, (name) => deps.env(name));
  if ("text" in expanded) return expanded.text;
  problems.add("blocking", given, { option: given.option.name, message: expanded.fault });
  return undefined;
}
