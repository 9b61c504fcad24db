export { type Agents, type AgentStrategy } from "./server/agents.ts";
export { type Authority } from "./server/certificates.ts";

/** The far side of Konnectivity: loaded by the commands that play it, which no door does. */
export function loadKonnectivity(): Promise<typeof import("./server/mod.ts")> {
  return import("./server/mod.ts");
}
