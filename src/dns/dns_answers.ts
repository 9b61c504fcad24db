import type { DnsRecord, DnsType } from "./messages/dns_records.ts";

/** What somebody asks for. */
export interface DnsAsked {
  /** In lower case, without its last dot. */
  readonly name: string;
  readonly type: DnsType;
}

/** What there is to say of a name. `zone` is the apex of what is ours around it: answers that there is nothing name it. */
export type DnsAnswer =
  | {
    readonly kind: "records";
    readonly zone: string;
    readonly records: readonly DnsRecord[];
    /** What will be asked for next. */
    readonly additionals?: readonly DnsRecord[];
  }
  /** The name is there, or something below it, but nothing of this type. */
  | { readonly kind: "nodata"; readonly zone: string }
  /** Nothing of this name is there. */
  | { readonly kind: "unknown"; readonly zone: string }
  /** It is for others to answer. */
  | { readonly kind: "notOurs" };

/** Who knows the names that are ours; the app implements it. A failure is told to the client as such. */
export interface DnsAnswers {
  answer(asked: DnsAsked, options: { readonly signal: AbortSignal }): DnsAnswer | Promise<DnsAnswer>;
}

/** How long an answer may be kept, in seconds: services move. */
export const answerTtl = 5;

/** How long the answer that there is nothing may be kept, in seconds. */
const negativeTtl = 5;

/** What is ours of the tree, for answers that there is nothing (RFC 2308, section 3). */
export function zoneRecord(zone: string): DnsRecord {
  return {
    name: zone,
    ttl: negativeTtl,
    type: "SOA",
    // There is no such server and nobody to write to (RFC 2606): nobody outside ever sees this zone.
    primary: "postern.invalid",
    mailbox: "nobody.invalid",
    serial: 1,
    refresh: 3600,
    retry: 600,
    expire: 86_400,
    minimum: negativeTtl,
  };
}
