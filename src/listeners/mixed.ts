import { describe, PosternError } from "../words/mod.ts";
import { serveHttpProxy } from "./http/http_proxy.ts";
import { handshakeDeadline, type Serve } from "./listener.ts";
import { serveSocks4 } from "./socks4.ts";
import { serveSocks5 } from "./socks5.ts";

/** The protocol that a client's first byte announces. */
export type FirstByte = "socks5" | "socks4" | "http" | "tls" | "unknown";

export function protocolOf(byte: number | undefined): FirstByte {
  if (byte === 5) return "socks5";
  if (byte === 4) return "socks4";
  if (byte === 0x16) return "tls";
  // An empty line may precede a request (RFC 9112, section 2.2).
  if (byte === 0x0d) return "http";
  const letter = byte === undefined ? 0 : byte | 0x20;
  return letter >= 0x61 && letter <= 0x7a ? "http" : "unknown";
}

/** Serves one client of any proxy protocol, chosen by its first byte. */
export const serveMixed: Serve = byFirstByte({
  socks5: serveSocks5,
  socks4: serveSocks4,
  http: serveHttpProxy,
});

export const serveSocks: Serve = byFirstByte({ socks5: serveSocks5, socks4: serveSocks4 });

/** Serves one client of an HTTP proxy; logs and drops other protocols. */
export const serveHttp: Serve = byFirstByte({ http: serveHttpProxy });

function byFirstByte(protocols: { readonly [protocol in FirstByte]?: Serve }): Serve {
  return async (client, messages, deps, options) => {
    const deadline = options.deadline ?? handshakeDeadline(client, deps, options);
    const { silent } = options;
    try {
      silent?.add(client);
      if (messages.pending.length === 0 && !await messages.fill()) {
        deadline[Symbol.dispose]();
        return await client[Symbol.asyncDispose]();
      }
    } catch (error) {
      // Browsers open spare connections and may never use them.
      deadline[Symbol.dispose]();
      deps.log.debug("client.gone", { client: client.peer, reason: describe(error) });
      return client.abort(error);
    } finally {
      silent?.delete(client);
    }
    const [byte] = messages.pending;
    const protocol = protocolOf(byte);
    const serve = protocols[protocol];
    if (serve) return serve(client, messages, deps, { ...options, deadline });
    deadline[Symbol.dispose]();
    if (protocol === "tls") {
      deps.log.warn("instance.tls", {
        client: client.peer,
        reason: "the client uses TLS on a plaintext proxy port",
        hint: "use http:// instead of https:// in the proxy URL",
      });
    } else {
      const reason = protocol === "unknown"
        ? `no protocol starts with byte ${byte}`
        : `this listener does not support ${protocol}`;
      deps.log.info("client.refused", { client: client.peer, reason });
    }
    client.abort(new PosternError("protocol", "Cannot serve the client: unsupported protocol"));
  };
}
