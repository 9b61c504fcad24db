import { PosternError } from "../../words/mod.ts";
import { within } from "../../core/mod.ts";
import { type SshCriterion, unjudgedSshCriteria } from "./language/ssh_config_criteria.ts";
import { matchesSshHostList, matchesSshPatternList } from "./language/ssh_config_pattern.ts";
import { expandSshTokens } from "./language/ssh_config_tokens.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";
import type { SshSettings } from "./ssh_settings.ts";
import { sshTokens } from "./ssh_tokens.ts";

/** The timeout of a `Match exec` command, in milliseconds. */
const execLimit = 10_000;

/** The values that `Match` conditions test. */
export interface SshMatchState {
  readonly alias: string;
  /** The host name at this point of the configuration. */
  readonly host: string;
  readonly isFinal: boolean;
  readonly settings: SshSettings;
}

/** Whether a `Match` line applies; rejects with the reason when a condition cannot be evaluated. */
export async function matchesSsh(
  criteria: readonly SshCriterion[],
  state: SshMatchState,
  deps: SshConfigDeps,
): Promise<boolean> {
  let unjudged: string | undefined;
  for (const criterion of criteria) {
    if (unjudgedSshCriteria.includes(criterion.name)) {
      unjudged ??= criterion.name;
      continue;
    }
    if (await holds(criterion, state, deps) === criterion.isNegated) return false;
  }
  if (unjudged !== undefined) {
    throw new PosternError("config", `the built-in engine cannot evaluate the condition "${unjudged}"`);
  }
  return true;
}

function holds(
  { name, argument }: SshCriterion,
  state: SshMatchState,
  deps: SshConfigDeps,
): boolean | Promise<boolean> {
  const { settings } = state;
  switch (name) {
    case "all":
      return true;
    case "canonical":
    case "final":
      return state.isFinal;
    case "host":
      return matchesSshHostList(state.host, argument);
    case "originalhost":
      return matchesSshHostList(state.alias, argument);
    case "user":
      return matchesSshPatternList(settings.value("user") ?? deps.localUser, argument);
    case "localuser":
      return matchesSshPatternList(deps.localUser, argument);
    case "tagged":
      return matchesSshPatternList(settings.value("tag") ?? "", argument);
    case "exec":
      return succeeds(argument, state, deps);
    default:
      throw new PosternError("config", `unknown condition "${name}"`);
  }
}

async function succeeds(command: string, state: SshMatchState, deps: SshConfigDeps): Promise<boolean> {
  const { alias, host, settings } = state;
  const expanded = expandSshTokens(
    command,
    sshTokens({
      alias,
      host,
      port: settings.port,
      user: settings.value("user") ?? deps.localUser,
      keyName: settings.value("hostkeyalias") ?? host,
      proxyJump: settings.value("proxyjump"),
    }, deps),
  );
  if ("fault" in expanded) throw new PosternError("config", expanded.fault);
  const shell = deps.env("SHELL") || "/bin/sh";
  const { code } = await within(
    {
      clock: deps.clock,
      ms: execLimit,
      signal: deps.signal,
      error: () => new PosternError("timeout", `the command did not end within ${execLimit / 1000} s`),
    },
    (signal) => deps.run([shell, "-c", expanded.text], { signal }),
  );
  return code === 0;
}
