import { writeSshConfig } from "../tests/support/ssh_household.ts";
import { type Sshd, SshLab, sshPeers } from "../tests/support/sshd.ts";
import { asForward, type Contender, startOnPort, startPostern } from "./bench_contenders.ts";
import { findPeers } from "./find_peers.ts";

/** Real ssh servers on loopback, and an ssh configuration for them. */
export interface SshBench extends AsyncDisposable {
  /** OpenSSH's client. */
  readonly ssh: string;
  /** The path of the ssh configuration, for postern and OpenSSH. */
  readonly config: string;
  /** Starts postern with that configuration; `openssh` names a host with `engine: openssh`. */
  postern(
    lines: readonly string[],
    options?: { readonly openssh?: string; readonly isFromSource?: boolean },
  ): Promise<Contender>;
  /** Starts `ssh -D`. */
  dynamicForward(host: string): Promise<Contender>;
  /** Starts `ssh -L` to a target. */
  localForward(host: string, target: string): Promise<Contender>;
}

/** A host of the configuration; `lines` returns its lines for a running server. */
export interface SshBenchHost {
  readonly name: string;
  readonly lines: (server: Sshd) => readonly string[];
}

/** The configuration lines for a server on loopback. */
export function loopback({ port }: { readonly port: number }): readonly string[] {
  return ["  HostName 127.0.0.1", `  Port ${port}`];
}

/** Starts a server for each host; if a peer is missing, prints the reason and returns undefined. */
export async function startSshBench(
  directory: string,
  hosts: readonly SshBenchHost[],
): Promise<SshBench | undefined> {
  const found = await findPeers();
  const missing = ([...sshPeers, "ssh"] as const).flatMap((name) => {
    const at = found[name];
    return "missing" in at ? [at.missing] : [];
  });
  const path = (name: keyof typeof found) => {
    const at = found[name];
    return "path" in at ? at.path : "";
  };
  if (missing.length > 0) {
    console.log(`skipped: ssh: ${missing.join(", ")}`);
    return undefined;
  }
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(
    await SshLab.create({ sshd: path("sshd"), ssh_keygen: path("ssh_keygen"), sh: path("sh") }),
  );
  const servers = await Promise.all(
    hosts.map(async (host) => ({ host, server: await lab.start(host.name) })),
  );
  const lines = servers.flatMap(({ host, server }) => [`Host ${host.name}`, ...host.lines(server)]);
  // Neither program may use the user's ssh agent.
  const config = await writeSshConfig(lab, ["IdentityAgent none", ...lines]);
  const ssh = path("ssh");
  const kept = stack.move();
  return {
    ssh,
    config,
    postern: (own, { openssh, isFromSource = false } = {}) => {
      const engine = openssh === undefined ? [] : [`  hosts: { ${openssh}: { engine: openssh } }`];
      const section = ["ssh:", `  config: ${JSON.stringify(config)}`, ...engine];
      return startPostern(directory, [...section, ...own].join("\n") + "\n", { isFromSource });
    },
    dynamicForward: (host) =>
      startOnPort("ssh -D", (port) => [ssh, "-F", config, "-N", "-D", `127.0.0.1:${port}`, host]),
    localForward: async (host, target) =>
      asForward(
        await startOnPort("ssh -L", (port) => [
          ...[ssh, "-F", config, "-N", "-L", `127.0.0.1:${port}:${target}`, host],
        ]),
      ),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
