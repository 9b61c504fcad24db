export { KonnectivityAgent } from "./agent.ts";
export { readIdentifiers } from "./agent_identifiers.ts";
export { serveAgent } from "./agent_port.ts";
export { Agents } from "./agents.ts";
export { issueCertificate, makeAuthority, readAuthority, readIssued } from "./certificates.ts";
export { serveConnectFront } from "./connect_front.ts";
export { serveGrpcFront } from "./grpc_front.ts";
export { adminPages, healthPages } from "./health_pages.ts";
