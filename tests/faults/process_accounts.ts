import type { Status } from "../../src/control/mod.ts";
import { runPeer } from "../support/peer_program.ts";
import type { Household } from "../support/postern_process.ts";

/** What a process holds. */
export interface ProcessAccount {
  /** Bytes of resident memory. */
  readonly memory: number;
  readonly descriptors: number;
}

/** What a process holds now; by a shell, since Deno reads nothing below /proc. */
export async function accountOf(sh: string, pid: number): Promise<ProcessAccount> {
  const script = 'cat "/proc/$1/status"; set -- /proc/$1/fd/*; echo "Descriptors: $#"';
  const { stdout } = await runPeer(sh, ["-c", script, "sh", String(pid)]);
  const number = (name: string) => Number(new RegExp(`^${name}:\\s+([0-9]+)`, "m").exec(stdout)?.[1]);
  const [kilobytes, descriptors] = [number("VmRSS"), number("Descriptors")];
  if (!(kilobytes > 0)) throw new Error(`the process ${pid} is gone`);
  return { memory: kilobytes * 1024, descriptors };
}

/** What a door says of itself. */
export async function statusOf(home: Household): Promise<Status> {
  const { code, stdout, stderr } = await home.run(["status", "-o", "json"]);
  if (code !== 0) throw new Error(`no status: ${stderr}`);
  const [status] = JSON.parse(stdout) as readonly Status[];
  if (!status) throw new Error("no door runs");
  return status;
}

/** Connections, channels and streams that a door has: none once it is quiet. */
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
