export { type BasicCredentials, decodeBasic, encodeBasic } from "./http1/basic_credentials.ts";
export { ChunkedDecoder, encodeChunk, encodeLastChunk } from "./http1/chunked.ts";
export { type Cursor, decoder, malformed } from "./decoder.ts";
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
  headDecoders,
  isPersistent,
  type RequestHead,
  type ResponseHead,
} from "./http1/http1.ts";
export { type Framing, requestFraming, responseFraming } from "./http1/http1_body.ts";
export { answerStatus, Http1Problem } from "./http1/http1_problem.ts";
export { parseAuthority, requestTarget } from "./http1/http1_target.ts";
export { http2Codes, http2CodeText } from "./http2/http2_frames.ts";
export { type Http2Event, Http2Session } from "./http2/http2_session.ts";
export { InterimCount } from "./http1/interim_count.ts";
export { ProtobufWriter, readProtobuf } from "./grpc/protobuf.ts";
export { PortForwardV4, v4Data } from "./websocket/port_forward_v4.ts";
export { metricsText, metricsType } from "./prometheus.ts";
export { loadSpdy } from "./spdy/load_spdy.ts";
export type { SpdyEffect, SpdySession } from "./spdy/spdy_session.ts";
export {
  decodeSocks4Reply,
  decodeSocks4Request,
  encodeSocks4Reply,
  encodeSocks4Request,
  socks4Commands,
  socks4Replies,
  type Socks4Request,
} from "./socks4.ts";
export {
  decodeSocks5Choice,
  decodeSocks5Credentials,
  decodeSocks5Greeting,
  decodeSocks5Reply,
  decodeSocks5Request,
  decodeSocks5Verdict,
  encodeSocks5Choice,
  encodeSocks5Credentials,
  encodeSocks5Greeting,
  encodeSocks5Reply,
  encodeSocks5Request,
  encodeSocks5Verdict,
  socks5Commands,
  socks5Methods,
} from "./socks5.ts";
export { decodeSocks5Datagram, encodeSocks5Datagram, readSocks5Datagram } from "./socks5_datagram.ts";
export {
  sealWebSocketFrame,
  webSocketClientFrame,
  webSocketClosePayload,
  webSocketFrameRoom,
  webSocketOpcodes,
  WebSocketReader,
  webSocketServerFrame,
} from "./websocket/websocket.ts";
