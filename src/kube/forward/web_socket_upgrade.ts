import { encodeBase64 } from "../../core/mod.ts";
import type { Fields } from "../../wire/mod.ts";

/** The request fields of a WebSocket upgrade (RFC 6455, section 4.1). */
export function webSocketFields(
  protocol: string,
): { readonly key: string; readonly fields: readonly (readonly [string, string])[] } {
  const key = encodeBase64(crypto.getRandomValues(new Uint8Array(16)));
  return {
    key,
    fields: [
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Version", "13"],
      ["Sec-WebSocket-Key", key],
      ["Sec-WebSocket-Protocol", protocol],
    ],
  };
}

/**
 * Checks a server's response to the upgrade (section 4.1, the client's requirements); undefined if it is
 * valid.
 */
export async function webSocketProblem(
  fields: Fields,
  { key, protocol }: { readonly key: string; readonly protocol: string },
): Promise<string | undefined> {
  if (!fields.tokens("Upgrade").includes("websocket")) return "it did not switch to a WebSocket";
  if (fields.get("Sec-WebSocket-Accept")?.trim() !== await acceptFor(key)) {
    return "its Sec-WebSocket-Accept is wrong";
  }
  if (fields.get("Sec-WebSocket-Protocol")?.trim() !== protocol) return `its subprotocol is not ${protocol}`;
  return fields.has("Sec-WebSocket-Extensions")
    ? "it uses an extension that postern did not request"
    : undefined;
}

/** The value that proves that a server has read a client's key (section 4.2.2). */
export async function acceptFor(key: string): Promise<string> {
  const text = new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
  return encodeBase64(new Uint8Array(await crypto.subtle.digest("SHA-1", text)));
}
