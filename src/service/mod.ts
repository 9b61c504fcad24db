export { installService, removeService, serviceStates } from "./service.ts";
export { serviceLog } from "./service_log.ts";
export { installedFiles, planRemoval, planService } from "./service_plan.ts";
