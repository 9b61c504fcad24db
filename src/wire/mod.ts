export { type BasicCredentials, decodeBasic, encodeBasic } from "./basic_credentials.ts";
export { ChunkedDecoder, encodeChunk, encodeLastChunk } from "./chunked.ts";
export * as dns from "./dns.ts";
export { Fields } from "./fields.ts";
export {
  grpcCodes,
  grpcRequest,
  type GrpcStatus,
  grpcStatus,
  grpcTrailers,
  messageHeadSize,
  readMessageHead,
  writeMessageHead,
} from "./grpc.ts";
export { fieldValue, type HeaderField } from "./hpack_table.ts";
export {
  decodeRequestHead,
  decodeResponseHead,
  encodeRequestHead,
  encodeResponseHead,
  finalHeadDecoder,
  type HttpVersion,
  isPersistent,
  mostHead,
  type RequestHead,
  type ResponseHead,
} from "./http1.ts";
export { type Framing, requestFraming, responseFraming } from "./http1_body.ts";
export { answerStatus, Http1Problem } from "./http1_problem.ts";
export { parseAuthority, requestTarget } from "./http1_target.ts";
export { http2Codes, http2CodeText } from "./http2_frames.ts";
export { type Http2Event, Http2Session } from "./http2_session.ts";
export { InterimCount } from "./interim_count.ts";
export {
  type HmacSha1,
  isPlainKnownHost,
  knownHostName,
  lowerCaseName,
  matchesKnownHost,
} from "./known_host_names.ts";
export {
  formatKnownHost,
  type KnownHostEntry,
  type KnownHosts,
  type KnownHostsProblem,
  parseKnownHosts,
} from "./known_hosts.ts";
export * as konnectivity from "./konnectivity.ts";
export { PortForwardV4, v4Data } from "./port_forward_v4.ts";
export { metricsText, metricsType } from "./prometheus.ts";
export * as socks4 from "./socks4.ts";
export * as socks5 from "./socks5.ts";
export { type SpdyEffect, SpdySession } from "./spdy_session.ts";
export * as sshConfig from "./ssh_config.ts";
export {
  algorithmsOf,
  decodePublicKey,
  formatFingerprint,
  isSameKey,
  keyLabel,
  keyTypeOf,
  parsePublicKey,
  type SshPublicKey,
} from "./ssh_keys.ts";
export * as sshMux from "./ssh_mux.ts";
export * as sshPackets from "./ssh_packets.ts";
export * as webSocket from "./websocket.ts";
export * as x509 from "./x509.ts";
