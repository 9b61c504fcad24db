export { serveAdminAt } from "./admin.ts";
export { Authenticator, type User } from "./authenticator.ts";
export { controlProtocol, createControl, serveControl } from "./control.ts";
export { serveListener } from "./serve_listener.ts";
export { serveOnlyPages } from "./http_server.ts";
export {
  type AuthSettings,
  defaultLimits,
  type ListenerKind,
  listenerKinds,
  type ListenerSettings,
  type ListenSettings,
  listenSettings,
} from "./listen_settings.ts";
export {
  handshakeDeadline,
  type ListenerDeps,
  type ListenerLimits,
  type Serve,
  type ServeOptions,
} from "./listener.ts";
export { serveHttp, serveMixed, serveSocks } from "./mixed.ts";
export { type PageRequest, type PageResponse, type Pages, textPage } from "./page.ts";
export type { PageSource } from "./page_source.ts";
export { createPages } from "./pages.ts";
export { tunnel } from "./tunnel.ts";
