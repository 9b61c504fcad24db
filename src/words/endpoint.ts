/** An address that can be bound or connected to without a resolver. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };
