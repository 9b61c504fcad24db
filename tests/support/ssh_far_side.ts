import { inNamespace } from "./namespaces.ts";
import type { PeerName } from "../../scripts/peer_table.ts";
import { type PeerPaths, peerTest, skippedTest } from "./peers.ts";
import type { Household, Instance } from "./postern_process.ts";
import { openSshHousehold, sshHostLines } from "./ssh_household.ts";
import { type Sshd, SshLab, sshPeers, underHosts } from "./sshd.ts";

/** An address without a listener, for names that this host must not resolve. */
const nowhere = "127.0.0.9";

/**
 * Names of this machine and of the networks of three jump hosts; each network resolves only its own names.
 */
const names = {
  here: {
    "apps.c-lab-1.lab.internal": "127.0.0.1",
    "evilc-lab-1.lab.internal": "127.0.0.1",
    "open.internal": "127.0.0.1",
  },
  one: {
    "jump2.hop.internal": "127.0.0.1",
    "api.c-lab-1.lab.internal": "127.0.0.1",
    // A name server accepts names with and without a final dot, the C library's hosts file does not.
    "api.c-lab-1.lab.internal.": "127.0.0.1",
    "vcenter.lab.internal": "127.0.0.1",
    "web.other.internal": "127.0.0.1",
    "site.example.net": "127.0.0.1",
    "apps.c-lab-1.lab.internal": nowhere,
    "evilc-lab-1.lab.internal": nowhere,
    "deep.other.internal": nowhere,
  },
  two: {
    "jump3.hop.internal": "127.0.0.1",
    "api.c-lab-2.lab.internal": "127.0.0.1",
    "deep.other.internal": "127.0.0.1",
  },
  three: { "api.c-lab-3.lab.internal": "127.0.0.1" },
};

const postern = [
  "transports: { one: { ssh: jump1 }, two: { ssh: jump2 }, three: { ssh: jump3 } }",
  "routes:",
  "  - { to: [c-lab-1.lab.internal, vcenter.lab.internal, other.internal, example.net], via: one }",
  "  - { to: [c-lab-2.lab.internal, deep.other.internal], via: two }",
  "  - { to: c-lab-3.lab.internal, via: three }",
  "direct: [apps.c-lab-1.lab.internal]",
];

/** An instance, and servers whose names only its three jump hosts resolve. */
export interface FarSide {
  readonly home: Household;
  readonly instance: Instance;
  readonly address: string;
  readonly jumps: readonly [Sshd, Sshd, Sshd];
}

/**
 * Registers a test of an instance with a chain of three jump hosts, each resolved only by the previous one:
 * the first directly, the second with ProxyJump and the third with `ProxyCommand ssh -W`.
 */
export function farSideTest<Name extends PeerName>(
  name: string,
  peers: readonly Name[],
  test: (side: FarSide, paths: PeerPaths<Name>) => Promise<void>,
): void {
  const namespace = inNamespace("--mount");
  if ("missing" in namespace) return skippedTest(name, namespace.missing);
  peerTest(name, [...sshPeers, "bash", ...peers], async (paths) => {
    await using lab = await SshLab.create(paths);
    const one = await lab.start("one", { hosts: names.one });
    const two = await lab.start("two", { hosts: names.two });
    const three = await lab.start("three", { hosts: names.three });
    const far = async (alias: string, { port, keys: [key] }: Sshd, way: string) => {
      await lab.know(`[${alias}.hop.internal]:${port}`, `${key}.pub`);
      return [`Host ${alias}`, `  HostName ${alias}.hop.internal`, `  Port ${port}`, `  ${way}`];
    };
    const ssh = [
      ...sshHostLines("jump1", one),
      ...await far("jump2", two, "ProxyJump jump1"),
      ...await far("jump3", three, "ProxyCommand ssh -W %h:%p jump2"),
    ];
    await using home = await openSshHousehold(lab, { ssh, postern });
    const under = await underHosts(`${lab.directory}/here.hosts`, names.here);
    await using instance = await home.instance([], { under });
    await test({ home, instance, address: await instance.address(), jumps: [one, two, three] }, paths);
  });
}
