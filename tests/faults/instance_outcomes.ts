import { eventually } from "../support/peer_program.ts";
import type { Instance } from "../support/postern_process.ts";
import type { PlayedStream } from "./play_schedule.ts";

/**
 * What the log of a door calls the end of each stream, by the address of its client; nothing for one that the door has
 * not heard of. An address that came again is told apart by the order.
 */
export async function outcomesOf(
  instance: Instance,
  played: readonly PlayedStream[],
): Promise<(string | undefined)[]> {
  let outcomes = new Map<string, string[]>();
  const reached = played.filter(({ failure, local }) => failure === undefined && local !== "");
  await eventually("the log tells of every stream", () => {
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

/** What the log of a door says of the client of a stream. */
export function logOf(instance: Pick<Instance, "stderr">, { local }: Pick<PlayedStream, "local">): string {
  const lines = instance.stderr.split("\n").filter((line) => line.includes(`=${local} `));
  return lines.length === 0 ? `the door says nothing of ${local}` : `the door says: ${lines.join("; ")}`;
}

/** Outcomes in the order of the log, by client. */
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
