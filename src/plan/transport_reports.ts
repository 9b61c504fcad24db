import type { TransportNote } from "../core/mod.ts";
import type { Plan } from "./plan.ts";

/** What a transport has to say of what it read besides the configuration. */
export interface TransportReport {
  readonly name: string;
  readonly type: string;
  readonly isUsable: boolean;
  /** What a person has to know, in the order of the way. */
  readonly notes: readonly TransportNote[];
}

/** Lets every transport that reads more than the configuration read it; connects to nothing. */
export async function transportReports({ transports }: Plan): Promise<TransportReport[]> {
  const reports = [...transports.byName.values()].map(async ({ name, type, transport }) => {
    if (!transport.prepare) return [];
    const notes = (await transport.prepare()).filter(({ severity }) => severity !== "harmless");
    const isUsable = !notes.some(({ severity }) => severity === "blocking");
    return [{ name, type, isUsable, notes }];
  });
  return (await Promise.all(reports)).flat();
}
