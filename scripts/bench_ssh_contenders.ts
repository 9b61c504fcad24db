import { writeSshConfig } from "../tests/support/ssh_household.ts";
import { type Sshd, SshLab, sshPeers } from "../tests/support/sshd.ts";
import { type Contender, startOnPort, startPostern } from "./bench_contenders.ts";
import { findPeers } from "./find_peers.ts";

/** Real ssh servers on loopback, and an ssh configuration that leads to them. */
export interface SshBench extends AsyncDisposable {
  /** OpenSSH's client. */
  readonly ssh: string;
  /** The ssh configuration: for postern and for OpenSSH alike. */
  readonly config: string;
  /** Starts postern, which reads that configuration too; `openssh` names a host that the ssh program is to serve. */
  postern(
    lines: readonly string[],
    options?: { readonly openssh?: string; readonly isFromSource?: boolean },
  ): Promise<Contender>;
  /** Starts `ssh -D`. */
  dynamicForward(host: string): Promise<Contender>;
}

/** A host of the configuration, and how it is written down once its server is there. */
export interface SshBenchHost {
  readonly name: string;
  readonly lines: (server: Sshd) => readonly string[];
}

/** The lines that lead to a server on loopback. */
export function loopback({ port }: { readonly port: number }): readonly string[] {
  return ["  HostName 127.0.0.1", `  Port ${port}`];
}

/** Starts a server for each host; undefined, with the reason printed, where that cannot be. */
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
  // A person's agent must not be asked, neither by the one nor by the other.
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
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
