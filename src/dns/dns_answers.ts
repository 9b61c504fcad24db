import type { DnsRecord, DnsType } from "./messages/dns_records.ts";

/** A query. */
export interface DnsAsked {
  /** In lower case, without a trailing dot. */
  readonly name: string;
  readonly type: DnsType;
}

/** The answer for a name. `zone` is the apex of the zone around the name; negative answers name it. */
export type DnsAnswer =
  | {
    readonly kind: "records";
    readonly zone: string;
    readonly records: readonly DnsRecord[];
    /** Records that the client needs next. */
    readonly additionals?: readonly DnsRecord[];
  }
  /** The name or a name below it exists, but has no record of this type. */
  | { readonly kind: "nodata"; readonly zone: string }
  /** The name does not exist. */
  | { readonly kind: "unknown"; readonly zone: string }
  /** Another server has to answer. */
  | { readonly kind: "notOurs" };

/** Looks up our names; the instance implements it. A failure becomes SERVFAIL. */
export interface DnsAnswers {
  answer(asked: DnsAsked, options: { readonly signal: AbortSignal }): DnsAnswer | Promise<DnsAnswer>;
}

/** TTL of an answer in seconds; short, because services move. */
export const answerTtl = 5;

/** TTL of a negative answer in seconds. */
const negativeTtl = 5;

/** The SOA record of a zone, for negative answers (RFC 2308, section 3). */
export function zoneRecord(zone: string): DnsRecord {
  return {
    name: zone,
    ttl: negativeTtl,
    type: "SOA",
    // Placeholders (RFC 2606): only clients of this instance see the zone.
    primary: "postern.invalid",
    mailbox: "hostmaster.invalid",
    serial: 1,
    refresh: 3600,
    retry: 600,
    expire: 86_400,
    minimum: negativeTtl,
  };
}
