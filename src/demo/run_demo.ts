import { PrivateInstance } from "../programs/mod.ts";
import { createLog, LineWriter, whenAborted } from "../core/mod.ts";
import { describe, formatTarget, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { clusterSteps } from "./cluster_steps.ts";
import { DemoCluster, kubeconfigPath, webName } from "./demo_cluster.ts";
import { DemoLieutenant } from "./demo_lieutenant.ts";
import type { DemoStage } from "./demo_stage.ts";
import { demoSteps } from "./demo_steps.ts";
import { demoWorld } from "./demo_world.ts";
import { archiveName, FarSide, hiddenName, shopName } from "./far_side.ts";
import { fleetSteps } from "./fleet_steps.ts";
import { JumpHost, sshConfigPath } from "./jump_host.ts";

export interface DemoOptions {
  readonly version: string;
  /** Runs all checks and exits. */
  readonly once: boolean;
  /** The listen address (default: a free port). */
  readonly listen?: string;
}

/**
 * Runs a self-contained simulation in this process, on loopback. It has hidden sites behind a proxy and a jump
 * host, a cluster behind the jump host, a catalogue, and an instance with routes to all of them.
 */
export async function runDemo(
  world: World,
  { version, once, listen }: DemoOptions,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const lines = new LineWriter({ sink: (text) => world.terminal.err(text) });
  // Without a terminal there is no Ctrl-C, so the demo exits; with a listen address the user wants to
  // connect.
  const staysOpen = !once && (world.terminal.isOutput || listen !== undefined);
  let isInUse = false;
  const log = createLog({
    level: staysOpen ? "info" : "error",
    format: "text",
    date: () => world.clock.date(),
    // While the steps run, their output replaces the log.
    write: (line) => isInUse || !staysOpen ? lines.write(line) : undefined,
  });
  try {
    await using far = new FarSide(world, log);
    await using cluster = new DemoCluster(world, {
      log,
      connectPod: ({ signal }) =>
        far.connect({ host: hiddenName, port: 80 }, { names: [hiddenName], signal }),
    });
    await using jump = await JumpHost.open(world, {
      log,
      connect: (target, { signal }) =>
        formatTarget(target) === cluster.address
          ? cluster.connect({ signal })
          : far.connect(target, { names: [archiveName, shopName], signal }),
    });
    const config = demoConfig(listen ?? "127.0.0.1:0", far.proxyPort);
    const own = demoWorld(world, { ...jump.sshFiles, ...cluster.kubeFiles });
    await using instance = await PrivateInstance.open(own, { config, version, log });
    await using lieutenant = new DemoLieutenant(world, log);
    const otherConfig = `${config}  - { to: other.demo.internal, via: far }\n`;
    await tryAll({ world, own, instance, far, jump, cluster, lieutenant, config, otherConfig }, signal);
    if (!staysOpen) return;
    isInUse = true;
    await showAndWait(world, instance, config, signal);
  } finally {
    await lines.flush();
  }
}

function demoConfig(listen: string, proxyPort: number): string {
  return `listen: { mixed: ${JSON.stringify(listen)} }
transports:
  far: { proxy: { url: "socks5h://127.0.0.1:${proxyPort}" } }
  jump: { ssh: jump }
  lab: { kubernetes: { kubeconfig: ${kubeconfigPath} }, via: jump }
ssh: { config: ${sshConfigPath}, agent: none }
routes:
  - { to: ${hiddenName}, via: far }
  - { to: ${archiveName}, via: jump }
  - { to: .svc.cluster.local, via: lab }
`;
}

async function tryAll(stage: DemoStage, signal: AbortSignal): Promise<void> {
  const { terminal, clock } = stage.world;
  const begun = clock.now();
  const steps = [...demoSteps(stage), ...clusterSteps(stage), ...fleetSteps(stage)];
  for (const [index, { title, run }] of steps.entries()) {
    const place = `${String(index + 1).padStart(2)}/${steps.length}`;
    try {
      const result = await run(signal);
      await terminal.out(`${place} ok      ${title}: ${result}\n`);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      await terminal.out(`${place} FAILED  ${title}: ${describe(error)}\n`);
      throw new PosternError("protocol", `Cannot complete the demo: the step "${title}" failed`, {
        cause: error,
      });
    }
  }
  await terminal.out(`demo: all ${steps.length} steps ok in ${Math.round(clock.now() - begun)} ms\n`);
}

async function showAndWait(
  world: World,
  instance: PrivateInstance,
  config: string,
  signal: AbortSignal,
): Promise<void> {
  await world.terminal.out(invitation(instance, config));
  using _int = world.process.on("SIGINT", () => ended.resolve());
  using _term = world.process.on("SIGTERM", () => ended.resolve());
  const ended = Promise.withResolvers<void>();
  using _stop = whenAborted(signal, () => ended.resolve());
  await ended.promise;
  await world.terminal.out("\ndemo: stopped\n");
}

function invitation({ address }: PrivateInstance, config: string): string {
  const indented = config.trimEnd().split("\n").map((line) => `    ${line}`).join("\n");
  return `
postern listens on ${address} and reaches four sites whose names this machine cannot resolve: one behind a
proxy, one behind an ssh server, a Service of a cluster, and a site of a cluster from a stored catalogue. The
demo keeps its ssh configuration, keys and kubeconfig in memory and does not use yours.

The configuration:

${indented}

Try in another terminal:

    curl http://${hiddenName}/                                      (fails: no such name here)
    curl -x socks5h://${address} http://${hiddenName}/
    curl -x http://${address} http://${hiddenName}/
    curl -p -x http://${address} http://${hiddenName}/
    curl -x socks5h://${address} http://${archiveName}/       (through ssh)
    curl -x socks5h://${address} http://${shopName}/       (a route from cluster facts)
    curl -x socks5h://${address} http://${webName}/      (a Service, from the kubeconfig)
    curl http://${address}/proxy.pac

In a browser: http://${address}/

postern logs a line below for every connection, with its route and the reason. Press Ctrl-C to stop the demo.

`;
}
