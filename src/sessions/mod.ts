export * from "./grpc_stream.ts";
export * from "./http2_connection.ts";
export * from "./http2_exchange.ts";
