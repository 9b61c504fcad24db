export type { Agents, AgentStrategy } from "./konnectivity/agents.ts";
export type { Authority } from "./konnectivity/certificates.ts";

/** The far side of Konnectivity: loaded by the commands that play it, which no door does. */
export function loadKonnectivity(): Promise<typeof import("./konnectivity/mod.ts")> {
  return import("./konnectivity/mod.ts");
}
