export { resolveChain } from "./hops/ssh_chain.ts";
export { SshPath } from "./hops/ssh_path.ts";
export type { SshHost } from "./config/ssh_host.ts";
export { sshLabel } from "./ssh_label.ts";
export { sshOfPerson, type SshPerson } from "./ssh_of_person.ts";
export { type SshSection, sshSection } from "./config/ssh_section.ts";
export { SshServices, type SshServicesOptions } from "./ssh_services.ts";
export { inspectSsh, type SshFinding, type SshSurroundings } from "./config/ssh_surroundings.ts";
