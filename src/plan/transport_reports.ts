import type { TransportNote } from "../core/mod.ts";
import type { Plan } from "./plan.ts";

/** The notes of a transport about its files, other than the configuration. */
export interface TransportReport {
  readonly name: string;
  readonly type: string;
  readonly isUsable: boolean;
  /** The notes for the user, in the order of the path. */
  readonly notes: readonly TransportNote[];
}

/** Lets every transport read its files again; connects to nothing. */
export async function transportReports({ transports }: Plan): Promise<TransportReport[]> {
  const reports = [...transports.byName.values()].map(async ({ name, type, transport }) => {
    if (!transport.prepare) return [];
    const notes = (await transport.prepare()).filter(({ severity }) => severity !== "harmless");
    const isUsable = !notes.some(({ severity }) => severity === "blocking");
    return [{ name, type, isUsable, notes }];
  });
  return (await Promise.all(reports)).flat();
}
