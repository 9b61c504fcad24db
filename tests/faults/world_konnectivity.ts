import {
  KonnectivityLab,
  type konnectivityPeers,
  plainPorts,
  untilReady,
} from "../support/konnectivity_lab.ts";
import type { PeerPaths } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { RoughLine } from "../support/rough_line.ts";
import {
  freezing,
  lineFaults,
  type LivePart,
  Replaceable,
  restarting,
  type WorldSection,
} from "./live_parts.ts";

/**
 * Starts `hosted` with upstream's programs and `own` with ours; `deep` reaches the server of `own` through
 * `corp`.
 */
export async function startKonnectivity(
  paths: PeerPaths<typeof konnectivityPeers[number]>,
  started: AsyncDisposableStack,
): Promise<WorldSection & { readonly programs: () => readonly Instance[] }> {
  const lab = started.use(await KonnectivityLab.create(paths));
  const home = started.use(await Household.open());
  const frontend = { mode: "grpc", isSocket: false } as const;
  const [ports, ownPorts] = [plainPorts(), plainPorts()];
  const server = started.use(
    await Replaceable.start(async () => (await lab.goServer(frontend, { ports })).server),
  );
  const agent = started.use(await Replaceable.start(() => lab.goAgent({ agents: ports[1] })));
  const programs = ownKonnectivity(home, lab, ownPorts);
  const ownServer = started.use(await Replaceable.start(programs.server));
  const ownAgent = started.use(await Replaceable.start(programs.agent));
  await untilReady(ports[2]);
  await untilReady(ownPorts[2]);
  const line = started.use(new RoughLine(() => ports[0]));
  const ownLine = started.use(new RoughLine(() => ownPorts[0]));
  const { cert, key } = lab.pair("frontend", "client");
  const settings = ({ port }: RoughLine) =>
    `konnectivity: { server: "127.0.0.1:${port}", mode: grpc, ca: ${
      lab.ca("frontend")
    }, cert: ${cert}, key: ${key} }`;
  const kinds = <T extends AsyncDisposable & { kill(signal: Deno.Signal): void }>(
    program: Replaceable<T>,
  ) => [
    freezing(() => program.current),
    restarting((lasts) => program.restart(lasts)),
  ];
  const parts: LivePart[] = [
    { name: "go server", ways: ["hosted"], kinds: [...lineFaults(line), ...kinds(server)] },
    { name: "go agent", ways: ["hosted"], kinds: kinds(agent) },
    { name: "own server", ways: ["own", "deep"], kinds: [...lineFaults(ownLine), ...kinds(ownServer)] },
    { name: "own agent", ways: ["own", "deep"], kinds: kinds(ownAgent) },
  ];
  return {
    parts,
    transports: [
      `  hosted: { ${settings(line)} }`,
      `  own: { ${settings(ownLine)} }`,
      `  deep: { ${settings(ownLine)}, via: corp }`,
    ],
    programs: (): Instance[] => [ownServer.current, ownAgent.current],
  };
}

function ownKonnectivity(
  home: Household,
  lab: KonnectivityLab,
  [front, agents, health, agentHealth]: readonly number[],
) {
  const frontPair = lab.pair("frontend", "server");
  const back = lab.pair("agent", "server"), own = lab.pair("agent", "client");
  const begun = async (args: readonly string[]): Promise<Instance> => {
    const program = home.start(["konnectivity", ...args]);
    await program.ready;
    return program;
  };
  return {
    server: () =>
      begun([
        ...["server", "--mode=grpc", `--server-port=${front}`, "--server-bind-address=127.0.0.1"],
        ...[`--agent-port=${agents}`, "--agent-bind-address=127.0.0.1"],
        ...[`--health-port=${health}`, "--health-bind-address=127.0.0.1"],
        ...[`--server-ca-cert=${lab.ca("frontend")}`, `--server-cert=${frontPair.cert}`],
        ...[`--server-key=${frontPair.key}`, `--cluster-ca-cert=${lab.ca("agent")}`],
        ...[`--cluster-cert=${back.cert}`, `--cluster-key=${back.key}`],
      ]),
    agent: () =>
      begun([
        ...["agent", "--proxy-server-host=127.0.0.1", `--proxy-server-port=${agents}`, "--agent-id=first"],
        ...["--health-server-host=127.0.0.1", `--health-server-port=${agentHealth}`],
        ...[`--ca-cert=${lab.ca("agent")}`, `--agent-cert=${own.cert}`, `--agent-key=${own.key}`],
      ]),
  };
}
