export { type BasicCredentials, decodeBasic, encodeBasic } from "./http1/basic_credentials.ts";
export { ChunkedDecoder, encodeChunk, encodeLastChunk } from "./http1/chunked.ts";
export * as dns from "./dns/dns.ts";
export { Fields } from "./http1/fields.ts";
export {
  grpcCodes,
  grpcRequest,
  type GrpcStatus,
  grpcStatus,
  grpcTrailers,
  messageHeadSize,
  readMessageHead,
  writeMessageHead,
} from "./grpc/grpc.ts";
export { fieldValue, type HeaderField } from "./http2/hpack_table.ts";
export {
  decodeRequestHead,
  decodeResponseHead,
  encodeRequestHead,
  encodeResponseHead,
  type HttpVersion,
  isPersistent,
  mostHead,
  type RequestHead,
  type ResponseHead,
} from "./http1/http1.ts";
export { type Framing, requestFraming, responseFraming } from "./http1/http1_body.ts";
export { answerStatus, Http1Problem } from "./http1/http1_problem.ts";
export { parseAuthority, requestTarget } from "./http1/http1_target.ts";
export { http2Codes, http2CodeText } from "./http2/http2_frames.ts";
export { type Http2Event, Http2Session } from "./http2/http2_session.ts";
export { InterimCount } from "./http1/interim_count.ts";
export {
  type HmacSha1,
  isPlainKnownHost,
  knownHostName,
  lowerCaseName,
  matchesKnownHost,
} from "./ssh/known_host_names.ts";
export {
  formatKnownHost,
  type KnownHostEntry,
  type KnownHosts,
  type KnownHostsProblem,
  parseKnownHosts,
} from "./ssh/known_hosts.ts";
export * as konnectivity from "./konnectivity.ts";
export { PortForwardV4, v4Data } from "./websocket/port_forward_v4.ts";
export { metricsText, metricsType } from "./prometheus.ts";
export * as socks4 from "./socks4.ts";
export * as socks5 from "./socks5.ts";
export { loadSpdy } from "./spdy/load_spdy.ts";
export type { SpdyEffect, SpdySession } from "./spdy/spdy_session.ts";
export * as sshConfig from "./ssh_config/ssh_config.ts";
export {
  algorithmsOf,
  decodePublicKey,
  formatFingerprint,
  isSameKey,
  keyLabel,
  keyTypeOf,
  parsePublicKey,
  type SshPublicKey,
} from "./ssh/ssh_keys.ts";
export * as sshMux from "./ssh/ssh_mux.ts";
export * as sshPackets from "./ssh/ssh_packets.ts";
export * as webSocket from "./websocket/websocket.ts";
export * as x509 from "./x509/x509.ts";
