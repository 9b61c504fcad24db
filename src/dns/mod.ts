export { type DnsDeps, serveDnsDatagrams, serveDnsStream } from "./dns.ts";
export {
  answerTtl,
  type DnsAnswer,
  type DnsAnswers,
  type DnsAsked,
  type DnsData,
  type DnsRecord,
} from "./dns_answers.ts";
export type { DnsReply } from "./dns_reply.ts";
export { dnsSection } from "./dns_settings.ts";
export { addressAt, type FakeRange, placeIn } from "./fake_range.ts";
