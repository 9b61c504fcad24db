/** An address to bind or connect to without a resolver. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };
