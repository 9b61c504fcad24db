/** The meaning of a name in a transport's remote network. */
export interface FarName {
  /** Of both families, in canonical form; empty when only subdomains of the name exist. */
  readonly addresses: readonly string[];
  /** The target of an alias. */
  readonly alias?: string;
  /** The services of this name. */
  readonly services?: readonly FarService[];
  /** The TCP ports of the name, if known. */
  readonly ports?: readonly number[];
}

export interface FarService {
  readonly name: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** Resolves the names of a transport's remote network without dialing. */
export interface FarNames {
  /** Returns undefined for an unknown name; rejects when the remote side cannot be queried. */
  find(name: string, options: { readonly signal: AbortSignal }): Promise<FarName | undefined>;
  /** Returns the known name of an address in canonical form; makes no query. */
  nameOf(address: string): string | undefined;
  /** Returns the names of all services that may be listed, each in the spellings that clients use. */
  all?(options: { readonly signal: AbortSignal }): Promise<readonly (readonly string[])[]>;
}
