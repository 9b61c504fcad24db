export * from "./authenticator.ts";
export * from "./door.ts";
export * from "./http_body.ts";
export * from "./http_server.ts";
export * from "./listen_settings.ts";
export * from "./listener.ts";
export * from "./mixed.ts";
export * from "./page.ts";
