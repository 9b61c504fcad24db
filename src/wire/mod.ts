export * from "./decoder.ts";
export * from "./host.ts";
export * as socks4 from "./socks4.ts";
export * as socks5 from "./socks5.ts";
