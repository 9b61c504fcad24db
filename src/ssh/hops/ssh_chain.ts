import { PosternError } from "../../words/mod.ts";
import type { JumpSpec, SshConfigProblem, SshHost } from "../config/ssh_host.ts";

/** Reads what the ssh configuration says of a host. */
export type ReadSshHost = (
  alias: string,
  asked: { readonly user?: string; readonly port?: number },
) => Promise<SshHost>;

/**
 * The hosts on the way to one, nearest first and itself last, as `ssh -J` goes it: the last jump host gets those
 * before it as its own jumps, and only the first of a list follows its own configuration.
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
      `Cannot use ssh ${above[0] ?? name}: its jump hosts lead back to themselves: ${
        [...above, name].join(" via ")
      }`,
      { hint: "see ProxyJump and ProxyCommand of these hosts" },
    );
  }
  const found = await read(alias, {
    ...(user !== undefined && { user }),
    ...(port !== undefined && { port }),
  });
  const host = jumps ? straightened(found, jumps) : found;
  // The program finds its own way there; jump hosts that were given it has to be told.
  if (host.engine === "openssh") return [{ ...host, jumps: jumps ?? [] }];
  const last = host.jumps.at(-1);
  if (!last) return [host];
  const before = host.jumps.slice(0, -1);
  const way = { read, above: [...above, name], ...(before.length > 0 && { jumps: before }) };
  return [...await chainTo(last, way), host];
}

/** What is given by the chain counts more than what stands in the configuration. */
function straightened(host: SshHost, jumps: readonly JumpSpec[]): SshHost {
  const { proxyCommand: _, ...rest } = host;
  return { ...rest, jumps };
}

/** The problems that keep the built-in engine from using a chain. */
function blockingProblems(chain: readonly SshHost[]): SshConfigProblem[] {
  return chain.flatMap(({ engine, problems }) =>
    engine === "openssh" ? [] : problems.filter(({ severity }) => severity === "blocking")
  );
}

/** Fails where a chain needs what the built-in engine does not do, with the line that asks for it. */
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
