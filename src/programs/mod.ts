export { apiAuthorities } from "./api_authorities.ts";
export { clusterCredential } from "./cluster_credential.ts";
export { ClusterPrograms } from "./cluster_programs.ts";
export { fetchEmergencyCredentials } from "./emergency_credentials.ts";
export { keepForwards } from "./forwards.ts";
export { openProgramInstance } from "./program_instance.ts";
export { PrivateInstance } from "./private_instance.ts";
export { signInToCatalogues, signOutOfCatalogues } from "./sign_in.ts";
export { temporaryKubeconfig } from "./temporary_kubeconfig.ts";
