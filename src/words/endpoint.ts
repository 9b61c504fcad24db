import { formatTarget } from "./target.ts";

/** An address to bind or connect to without a resolver. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };

/** `127.0.0.1:12000` or `unix:PATH`. */
export function formatEndpoint(endpoint: Endpoint): string {
  return "path" in endpoint ? `unix:${endpoint.path}` : formatTarget(endpoint);
}
