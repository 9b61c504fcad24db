import { PosternError } from "../../words/mod.ts";
import type { JumpSpec, SshConfigProblem, SshHost } from "../config/ssh_host.ts";

export type ReadSshHost = (
  alias: string,
  asked: { readonly user?: string; readonly port?: number },
) => Promise<SshHost>;

/**
 * Returns the hosts on the path to a host, nearest first and the host itself last, in the order of `ssh -J`.
 * The last jump host gets those before it as its own jumps; only the first of a list follows its own
 * configuration.
 */
export function resolveChain(alias: string, read: ReadSshHost): Promise<SshHost[]> {
  return chainTo({ host: alias }, { read, above: [] });
}

async function chainTo(
  spec: JumpSpec,
  { read, above, jumps }: { read: ReadSshHost; above: readonly string[]; jumps?: readonly JumpSpec[] },
): Promise<SshHost[]> {
  const { host: alias, user, port } = spec;
  const name = `${user === undefined ? "" : `${user}@`}${alias}${port === undefined ? "" : `:${port}`}`;
  if (above.includes(name) || above.length >= mostHops) {
    throw new PosternError(
      "config",
      `Cannot use ssh ${above[0] ?? name}: its jump hosts form a loop: ${[...above, name].join(" via ")}`,
      { hint: "check ProxyJump and ProxyCommand of these hosts" },
    );
  }
  const found = await read(alias, {
    ...(user !== undefined && { user }),
    ...(port !== undefined && { port }),
  });
  const host = jumps ? straightened(found, jumps) : found;
  // The ssh program reads the configuration itself. Pass it only the jump hosts that come from our
  // configuration.
  if (host.engine === "openssh") return [{ ...host, jumps: jumps ?? [] }];
  const last = host.jumps.at(-1);
  if (!last) return [host];
  const before = host.jumps.slice(0, -1);
  const rest = { read, above: [...above, name], ...(before.length > 0 && { jumps: before }) };
  return [...await chainTo(last, rest), host];
}

/** Applies the jumps of the chain, which override those of the configuration. */
function straightened(host: SshHost, jumps: readonly JumpSpec[]): SshHost {
  const { proxyCommand: _, ...rest } = host;
  return { ...rest, jumps };
}

/** Returns the problems that keep the built-in engine from using a chain. */
function blockingProblems(chain: readonly SshHost[]): SshConfigProblem[] {
  return chain.flatMap(({ engine, problems }) =>
    engine === "openssh" ? [] : problems.filter(({ severity }) => severity === "blocking")
  );
}

/** Throws when a chain needs an option that the built-in engine does not support; names its line. */
export function demandUsableChain(chain: readonly SshHost[]): void {
  for (const host of chain) {
    const [problem] = blockingProblems([host]);
    if (problem) {
      throw new PosternError(
        "config",
        `Cannot use ssh ${host.alias}: ${problem.file}:${problem.line}: ${problem.option}: ${problem.message}`,
        { hint: "use engine: openssh for this host" },
      );
    }
  }
}

const mostHops = 16;
