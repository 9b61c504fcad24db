export { type DnsDeps, serveDnsDatagrams, serveDnsStream } from "./dns.ts";
export { answerTtl, type DnsAnswer, type DnsAnswers, type DnsAsked } from "./dns_answers.ts";
export type { DnsReply } from "./dns_reply.ts";
export { dnsSection } from "./dns_settings.ts";
export { addressAt, type FakeRange, lookupRange, placeIn } from "./fake_range.ts";
export {
  decodeDnsMessage,
  dnsFrameDecoder,
  type DnsMessage,
  dnsQuestion,
  dnsRcodes,
  encodeDnsFrame,
  encodeDnsMessage,
} from "./messages/dns_message.ts";
export { isDnsName } from "./messages/dns_name.ts";
export type { DnsData, DnsRecord } from "./messages/dns_records.ts";
