export { type Agents, type AgentStrategy } from "./server/agents.ts";
export { type Authority } from "./server/certificates.ts";

/** Loads the server and agent; only their commands need them, not a proxy instance. */
export function loadKonnectivity(): Promise<typeof import("./server/mod.ts")> {
  return import("./server/mod.ts");
}
