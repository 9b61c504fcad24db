/** What a name stands for on the far side of a transport. */
export interface FarName {
  /** Of both families, in canonical form; empty where the name only has others below it. */
  readonly addresses: readonly string[];
  /** Another name that it is. */
  readonly alias?: string;
  /** Where a service of this name is. */
  readonly services?: readonly FarService[];
}

export interface FarService {
  readonly name: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** A transport whose far side has names of its own, for those who ask for them without dialling. */
export interface FarNames {
  /** Undefined where there is no such name; a far side that cannot be asked is a failure. */
  find(name: string, options: { readonly signal: AbortSignal }): Promise<FarName | undefined>;
  /** The name of an address in canonical form, of what is known without asking. */
  nameOf(address: string): string | undefined;
}
