export * from "./grpc_stream.ts";
export * from "./http2_connection.ts";
export * from "./http2_exchange.ts";
export * from "./packet_answerer.ts";
export * from "./packet_dialer.ts";
export * from "./packet_stream.ts";
export * from "./packet_tunnel.ts";
