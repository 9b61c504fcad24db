export * from "./http_body.ts";
export * from "./http_server.ts";
export * from "./listen_settings.ts";
export * from "./page.ts";
