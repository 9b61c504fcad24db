import { eventually } from "../support/peer_program.ts";
import type { Instance } from "../support/postern_process.ts";
import type { PlayedStream } from "./play_schedule.ts";

/**
 * Returns the outcome of each stream in an instance's log, by the client's address; undefined for a client
 * that never reached the instance. The order distinguishes clients with the same address.
 */
export async function outcomesOf(
  instance: Instance,
  played: readonly PlayedStream[],
): Promise<(string | undefined)[]> {
  let outcomes = new Map<string, string[]>();
  const reached = played.filter(({ failure, local }) => failure === undefined && local !== "");
  await eventually("the log has every stream", () => {
    outcomes = readOutcomes(instance.stderr);
    return reached.every(({ local }) => outcomes.has(local));
  });
  const inOrder = played.map((stream, at) => ({ stream, at })).sort((a, b) =>
    a.stream.begunAt - b.stream.begunAt
  );
  const found: (string | undefined)[] = [];
  for (const { stream, at } of inOrder) found[at] = outcomes.get(stream.local)?.shift();
  return found;
}

/** Returns the instance's log lines about a stream's client. */
export function logOf(instance: Pick<Instance, "stderr">, { local }: Pick<PlayedStream, "local">): string {
  const lines = instance.stderr.split("\n").filter((line) => line.includes(`=${local} `));
  return lines.length === 0 ? `the log has no line for ${local}` : `the log says: ${lines.join("; ")}`;
}

/** Reads the outcomes of each client in the order of the log. */
export function readOutcomes(log: string): Map<string, string[]> {
  const outcomes = new Map<string, string[]>();
  for (const line of log.split("\n")) {
    if (!line.includes("conn.done")) continue;
    const client = /\bclient=(\S+)/.exec(line)?.[1];
    const outcome = /\boutcome=(\S+)/.exec(line)?.[1];
    if (client === undefined || outcome === undefined) continue;
    const known = outcomes.get(client);
    if (known) known.push(outcome);
    else outcomes.set(client, [outcome]);
  }
  return outcomes;
}
