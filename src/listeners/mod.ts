export { serveAdminAt } from "./pages/admin.ts";
export { Authenticator, type User } from "./authenticator.ts";
export { checkedForwards } from "./checked_forwards.ts";
export { createControl, forRequests, serveControl } from "./pages/control.ts";
export { serveForward } from "./forward.ts";
export { type ForwardSettings, parseForwardTarget } from "./forward_settings.ts";
export { parseForwards, type WrittenForward } from "./forward_words.ts";
export { serveListener } from "./serve_listener.ts";
export { serveOnlyPages } from "./http/http_server.ts";
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
  type DatagramRelay,
  handshakeDeadline,
  type ListenerDeps,
  type ListenerLimits,
  type OpenDatagramRelay,
  type Serve,
  type ServeOptions,
} from "./listener.ts";
export { serveHttp, serveMixed, serveSocks } from "./mixed.ts";
export { type PageRequest, type PageResponse, type Pages, textPage } from "./pages/page.ts";
export type { PageSource } from "./pages/page_source.ts";
export { createPages } from "./pages/pages.ts";
export { tunnel } from "./http/tunnel.ts";
