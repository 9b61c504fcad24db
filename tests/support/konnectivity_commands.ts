import { type KonnectivityLab } from "./konnectivity_lab.ts";
import type { Household, Instance } from "./postern_process.ts";
import { freePort } from "./peer_program.ts";

/** A running `postern konnectivity server` and its ports. */
export interface ServerCommand {
  readonly program: Instance;
  readonly front: number;
  readonly agents: number;
  readonly health: number;
  readonly admin: number;
}

/** Starts `postern konnectivity server` with its frontend and agents over TLS; `more` comes last. */
export async function serverCommand(
  home: Household,
  lab: KonnectivityLab,
  { more = [], hasTokens = false }: { readonly more?: readonly string[]; readonly hasTokens?: boolean } = {},
): Promise<ServerCommand> {
  const [front, agents, health, admin] = [freePort(), freePort(), freePort(), freePort()];
  const clients = lab.pair("frontend", "server"), back = lab.pair("agent", "server");
  const program = home.start([
    ...["konnectivity", "server", `--server-port=${front}`, `--agent-port=${agents}`],
    ...[`--health-port=${health}`, `--admin-port=${admin}`, "--server-bind-address=127.0.0.1"],
    ...["--agent-bind-address=127.0.0.1", "--health-bind-address=127.0.0.1"],
    ...[`--server-ca-cert=${lab.ca("frontend")}`, `--server-cert=${clients.cert}`],
    ...[`--server-key=${clients.key}`, `--cluster-cert=${back.cert}`, `--cluster-key=${back.key}`],
    ...hasTokens ? [] : [`--cluster-ca-cert=${lab.ca("agent")}`],
    ...more,
  ]);
  await isReady(program);
  return { program, front, agents, health, admin };
}

/** Starts `postern konnectivity agent` for a server, with a certificate or a token. */
export async function agentCommand(
  home: Household,
  lab: KonnectivityLab,
  { agents, token, more = [] }: {
    readonly agents: number;
    readonly token?: string;
    readonly more?: readonly string[];
  },
): Promise<{ readonly program: Instance; readonly health: number; readonly admin: number }> {
  const [health, admin] = [freePort(), freePort()];
  const { cert, key } = lab.pair("agent", "client");
  const who = token === undefined
    ? [`--agent-cert=${cert}`, `--agent-key=${key}`]
    : [`--service-account-token-path=${token}`];
  const program = home.start([
    ...["konnectivity", "agent", "--proxy-server-host=127.0.0.1", `--proxy-server-port=${agents}`],
    ...["--health-server-host=127.0.0.1", `--health-server-port=${health}`],
    ...[`--admin-server-port=${admin}`, `--ca-cert=${lab.ca("agent")}`, "--sync-interval-cap=1s"],
    ...who,
    ...more,
  ]);
  await isReady(program);
  return { program, health, admin };
}

/** Reads one metric of a port; the name includes the labels. Undefined if the metric is missing. */
export async function metricOf(port: number, name: string): Promise<number | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split("\n").find((line) => line.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

async function isReady(program: Instance): Promise<void> {
  const ended = program.ended.then(({ stderr }) => {
    throw new Error(`it ended: ${stderr}`);
  });
  ended.catch(() => {});
  await Promise.race([program.ready, ended]);
}
