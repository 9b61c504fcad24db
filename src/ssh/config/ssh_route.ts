import { expandSshTokens, type SshTokens } from "./language/ssh_config_tokens.ts";
import { parseSshHops } from "./language/ssh_config_hop.ts";
import { parseSshJumps } from "./language/ssh_config_jump.ts";
import { type SshConfigDeps, sshConfigPaths } from "./ssh_config_deps.ts";
import type { SshConfigEvaluation } from "./ssh_config_evaluation.ts";
import type { JumpSpec, SshHost } from "./ssh_host.ts";
import { type GivenSshOption, SshProblems } from "./ssh_settings.ts";
import { sshRouteTokens, type SshTokenValues } from "./ssh_tokens.ts";

/** The connection to a host: direct, through jump hosts, or through a command. */
export type SshRoute = Pick<SshHost, "jumps" | "proxyCommand">;

const straight: SshRoute = { jumps: [] };

/** Returns how to reach a host, from its ProxyJump or ProxyCommand. */
export function sshRoute(
  evaluated: SshConfigEvaluation,
  values: SshTokenValues,
  deps: SshConfigDeps,
): SshRoute {
  const { settings, problems } = evaluated;
  const jump = settings.given("proxyjump");
  const command = settings.given("proxycommand");
  if (jump && !command) return { jumps: jumpsOf(jump, sshRouteTokens(values), problems) };
  const [text = "none"] = command?.values ?? [];
  if (!command || text.toLowerCase() === "none") return straight;
  const expanded = expandSshTokens(text, sshRouteTokens(values));
  if ("fault" in expanded) {
    problems.add("blocking", command, { option: "ProxyCommand", message: expanded.fault });
    return straight;
  }
  const { host, port } = values;
  const config = sshConfigPaths(deps).user;
  const hops = parseSshHops(expanded.text, { host, port: Number(port), config });
  return hops ? { jumps: hops } : { jumps: [], proxyCommand: expanded.text };
}

function jumpsOf(
  given: GivenSshOption,
  tokens: SshTokens,
  problems: SshProblems,
): readonly JumpSpec[] {
  const jumps: JumpSpec[] = [];
  for (const { user = "", host, port } of parseSshJumps(given.values[0] ?? "") ?? []) {
    const there = expandSshTokens(host, tokens);
    const login = expandSshTokens(user, tokens);
    if ("fault" in there || "fault" in login) {
      const message = "fault" in there ? there.fault : "fault" in login ? login.fault : "";
      problems.add("blocking", given, { option: "ProxyJump", message });
    } else {
      const named = login.text === "" ? {} : { user: login.text };
      jumps.push({ ...named, host: there.text, ...(port !== undefined && { port }) });
    }
  }
  return jumps;
}
