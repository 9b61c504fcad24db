export { grpcAnswer, grpcError, grpcRefusal, GrpcStream } from "./grpc_stream.ts";
export { Http2Connection } from "./http2_connection.ts";
export type { Http2Exchange } from "./http2_exchange.ts";
export { MuxStream, type StreamEnd } from "./mux_stream.ts";
export { Pulse, type PulseTimes } from "./pulse.ts";
