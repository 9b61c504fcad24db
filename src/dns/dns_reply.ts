import { type Clock, whenAborted } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import {
  decodeDnsHeader,
  decodeDnsMessage,
  dnsClasses,
  type DnsHeader,
  type DnsMessage,
  dnsQueryOpcode,
  type DnsQuestion,
  dnsRcodes,
  encodeDnsMessage,
} from "./messages/dns_message.ts";
import type { DnsRecord, DnsType } from "./messages/dns_records.ts";
import { type DnsAnswer, type DnsAnswers, type DnsAsked, zoneRecord } from "./dns_answers.ts";

/** The outcome of a query, for logs and metrics. */
export type DnsOutcome = "answered" | "nodata" | "unknown" | "refused" | "failed" | "malformed" | "dropped";

/** The reply to a client, if any, with its outcome. */
export interface DnsReply {
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly outcome: DnsOutcome;
  readonly asked?: DnsQuestion;
  readonly error?: unknown;
}

export interface DnsReplyOptions {
  readonly answers: DnsAnswers;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The maximum size of the reply in bytes; by default the size that the client accepts. */
  readonly limit?: number;
}

/** Time limit for finding an answer in ms; clients retry after five seconds. */
const answerWithin = 4000;
/**
 * The size that every UDP client accepts (RFC 1035, section 4.2.1), and the largest UDP reply that we send.
 */
const [leastSize, mostSize] = [512, 4096];
/** The size that we accept ourselves: the common default since DNS flag day 2020. */
const ownSize = 1232;
/** AXFR and IXFR: postern never transfers a whole zone. */
const transfers: readonly DnsType[] = [251, 252];

/** The reply to a message, valid or not. */
export async function replyTo(bytes: Uint8Array<ArrayBuffer>, options: DnsReplyOptions): Promise<DnsReply> {
  const header = decodeDnsHeader(bytes)?.value;
  // Answering a response could start an endless loop between two servers.
  if (!header || header.isResponse) return { outcome: "dropped" };
  const refuse = (rcode: number, outcome: DnsOutcome): DnsReply => ({
    bytes: encodeDnsMessage(response(header, { rcode })),
    outcome,
  });
  if (header.opcode !== dnsQueryOpcode) return refuse(dnsRcodes.notImplemented, "refused");
  const query = wholeMessage(bytes);
  const [question, ...more] = query?.questions ?? [];
  if (!query || !question || more.length > 0) return refuse(dnsRcodes.formatError, "malformed");
  const { parts, ...rest } = await find(query, question, options);
  const reply = { ...response(query, parts), questions: [question] };
  const size = Math.min(mostSize, Math.max(leastSize, query.edns?.size ?? 0));
  return { bytes: encodeDnsMessage(reply, { limit: options.limit ?? size }), asked: question, ...rest };
}

/** Trailing bytes make a message as invalid as missing ones. */
function wholeMessage(bytes: Uint8Array<ArrayBuffer>): DnsMessage | undefined {
  try {
    const decoded = decodeDnsMessage(bytes);
    return decoded?.used === bytes.length ? decoded.value : undefined;
  } catch (error) {
    if (error instanceof PosternError && error.code === "protocol") return undefined;
    throw error;
  }
}

type Parts = Partial<DnsMessage>;

interface Found {
  readonly parts: Parts;
  readonly outcome: DnsOutcome;
  readonly error?: unknown;
}

async function find(
  { edns }: DnsMessage,
  question: DnsQuestion,
  { answers, clock, signal }: DnsReplyOptions,
): Promise<Found> {
  if (edns && edns.version > 0) return { parts: { rcode: dnsRcodes.badVersion }, outcome: "refused" };
  const isOurs = question.class === dnsClasses.internet || question.class === dnsClasses.any;
  if (!isOurs || transfers.includes(question.type)) {
    return { parts: { rcode: dnsRcodes.refused }, outcome: "refused" };
  }
  const asked = { name: question.name.toLowerCase(), type: question.type };
  const search = new AbortController();
  try {
    const found = answers.answer(asked, { signal: search.signal });
    const answer = found instanceof Promise ? await inTime(found, search, { clock, signal, asked }) : found;
    return partsOf(answer, { ...asked, spelled: question.name });
  } catch (error) {
    if (signal.aborted) throw error;
    return { parts: { rcode: dnsRcodes.serverFailure }, outcome: "failed", error };
  }
}

async function inTime(
  found: Promise<DnsAnswer>,
  search: AbortController,
  { clock, signal, asked }: { clock: Clock; signal: AbortSignal; asked: DnsAsked },
): Promise<DnsAnswer> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    search.abort(reason);
    reject(reason);
  };
  using _pass = whenAborted(signal, () => stop(signal.reason));
  using _timer = clock.after(answerWithin, () => {
    stop(new PosternError("timeout", `Cannot resolve "${asked.name}": no answer in time`));
  });
  return await Promise.race([found, promise]);
}

function partsOf(
  answer: DnsAnswer,
  { name, spelled, type }: { name: string; spelled: string; type: DnsType },
): Found {
  if (answer.kind === "notOurs") return { parts: { rcode: dnsRcodes.refused }, outcome: "refused" };
  const isAuthoritative = true;
  // Clients compare the answered name with the queried one, some of them case-sensitively.
  const asAsked = (record: DnsRecord) => record.name === name ? { ...record, name: spelled } : record;
  if (answer.kind === "records") {
    const { records, additionals = [] } = answer;
    return { parts: { isAuthoritative, answers: records.map(asAsked), additionals }, outcome: "answered" };
  }
  const zone = zoneRecord(answer.zone);
  if (answer.kind === "nodata" && type === "SOA" && name === answer.zone) {
    return { parts: { isAuthoritative, answers: [asAsked(zone)] }, outcome: "answered" };
  }
  const rcode = answer.kind === "unknown" ? dnsRcodes.nameError : dnsRcodes.noError;
  return { parts: { isAuthoritative, rcode, authorities: [zone] }, outcome: answer.kind };
}

function response(query: DnsHeader & Parts, parts: Parts): DnsMessage {
  return {
    id: query.id,
    isResponse: true,
    opcode: query.opcode,
    isAuthoritative: false,
    isTruncated: false,
    wantsRecursion: query.wantsRecursion,
    offersRecursion: false,
    isAuthentic: false,
    isUnchecked: query.isUnchecked,
    rcode: dnsRcodes.noError,
    questions: [],
    answers: [],
    authorities: [],
    additionals: [],
    ...(query.edns && { edns: { size: ownSize, version: 0, wantsDnssec: false, options: new Uint8Array() } }),
    ...parts,
  };
}
