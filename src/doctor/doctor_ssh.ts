import { PosternError } from "../words/mod.ts";
import { within } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import { inspectSsh, resolveChain, type SshHost } from "../ssh/mod.ts";
import { transportReports, type Transports } from "../plan/mod.ts";
import type { Finding } from "./doctor.ts";

/** The timeout for the ssh program to print its version, in ms. */
const answersWithin = 10_000;

/** Checks the requirements of the configured ssh transports on this machine; connects to no host. */
export async function* sshFindings(
  world: World,
  transports: Transports,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<Finding> {
  for (const { name: transport, isUsable, notes } of await transportReports(transports.plan)) {
    const name = `transport "${transport}"`;
    for (const { severity, text, hint } of notes) {
      const state = severity === "blocking" ? "failed" : "warning";
      yield { name, state, detail: text, hint };
    }
    const detail = transports.plan.transports.byName.get(transport)?.transport.status?.().detail;
    if (isUsable) yield { name, state: "ok", detail: typeof detail === "string" ? detail : "usable" };
  }
  const around = {
    network: world.network,
    clock: world.clock,
    files: world.files,
    run: (command: readonly string[]) => {
      const error = () =>
        new PosternError(
          "timeout",
          `Cannot run ${command.join(" ")}: still running after ${answersWithin / 1000} s`,
        );
      const { clock, process } = world;
      return within(
        { clock, ms: answersWithin, signal, error },
        (signal) => process.run(command, { signal }),
      );
    },
  };
  yield* inspectSsh(await hostsOf(transports), around, { signal });
}

/** Every hop of the usable transports, and of those that use the ssh program; each once. */
async function hostsOf({ plan, ssh }: Transports): Promise<SshHost[]> {
  const hosts = new Map<string, SshHost>();
  for (const { type, settings, transport } of plan.transports.byName.values()) {
    if (type !== "ssh" || typeof settings !== "string") continue;
    const isUsable = transport.status?.().state !== "unusable";
    for (const host of await resolveChain(settings, ssh.read).catch(() => [])) {
      if (!isUsable && host.engine !== "openssh") continue;
      hosts.set(JSON.stringify([host.alias, host.user, host.hostName, host.port]), host);
    }
  }
  return [...hosts.values()];
}
