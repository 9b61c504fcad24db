import type { Status } from "../../src/control/mod.ts";
import { runPeer } from "../support/peer_program.ts";
import type { Household } from "../support/postern_process.ts";

/** The resources of a process. */
export interface ProcessAccount {
  /** Bytes of resident memory. */
  readonly memory: number;
  readonly descriptors: number;
}

/** Measures a process with a shell, because Deno cannot read /proc. */
export async function accountOf(sh: string, pid: number): Promise<ProcessAccount> {
  const script = 'cat "/proc/$1/status"; set -- /proc/$1/fd/*; echo "Descriptors: $#"';
  const { stdout } = await runPeer(sh, ["-c", script, "sh", String(pid)]);
  const number = (name: string) => Number(new RegExp(`^${name}:\\s+([0-9]+)`, "m").exec(stdout)?.[1]);
  const [kilobytes, descriptors] = [number("VmRSS"), number("Descriptors")];
  if (!(kilobytes > 0)) throw new Error(`Cannot measure process ${pid}: it has exited`);
  return { memory: kilobytes * 1024, descriptors };
}

/** Returns the status of the instance. */
export async function statusOf(home: Household): Promise<Status> {
  const { code, stdout, stderr } = await home.run(["status", "-o", "json"]);
  if (code !== 0) throw new Error(`Cannot get the status: ${stderr}`);
  const [status] = JSON.parse(stdout) as readonly Status[];
  if (!status) throw new Error("no instance is running");
  return status;
}

/** Counts connections, channels and streams of an instance; all are zero when it is idle. */
export function liveOf({ connections, transports }: Status): Readonly<Record<string, number>> {
  const sum = (numbers: readonly (number | undefined)[]) =>
    numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
  return {
    connections: connections.open,
    channels: sum(transports.flatMap(({ hops }) => hops ?? []).map(({ channels }) => channels)),
    forwards: sum(transports.flatMap(({ clusters }) => clusters ?? []).map(({ streams }) => streams)),
    tunnels: sum(transports.map(({ tunnels }) => typeof tunnels === "number" ? tunnels : 0)),
  };
}
