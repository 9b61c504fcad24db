export { startInBackground } from "./background.ts";
export { clustersOf } from "./clusters_of_status.ts";
export {
  checkedId,
  connectInstance,
  InstanceLock,
  instances,
  isUntrusted,
  logFile,
  randomToken,
} from "./instance_lock.ts";
export { withOwner } from "./port_owner.ts";
export { type InstanceReload, reloadInstances } from "./reload_instances.ts";
export { stopInstance } from "./stop_instance.ts";
