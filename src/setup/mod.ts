export { applySetup, planSetup, type SetupPlan } from "./setup.ts";
export { nextSteps } from "./next_steps.ts";
export type { Check } from "./try_proposal.ts";
