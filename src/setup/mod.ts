export { applySetup, planSetup, type SetupPlan } from "./setup.ts";
export { nextSteps } from "./next_steps.ts";
export type { SetupCheck } from "./trial.ts";
