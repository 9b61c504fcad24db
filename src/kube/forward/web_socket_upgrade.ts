import { encodeBase64 } from "../../core/mod.ts";
import type { Fields } from "../../wire/mod.ts";

/** What asks a server for a WebSocket (RFC 6455, section 4.1). */
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

/** What is wrong with a server's answer to that (section 4.1, the client's requirements); undefined where nothing is. */
export async function webSocketProblem(
  fields: Fields,
  { key, protocol }: { readonly key: string; readonly protocol: string },
): Promise<string | undefined> {
  if (!fields.tokens("Upgrade").includes("websocket")) return "it did not switch to a WebSocket";
  if (fields.get("Sec-WebSocket-Accept")?.trim() !== await acceptFor(key)) {
    return "it did not read the key of the WebSocket";
  }
  if (fields.get("Sec-WebSocket-Protocol")?.trim() !== protocol) return `it does not speak ${protocol}`;
  return fields.has("Sec-WebSocket-Extensions") ? "it uses an extension that nobody asked for" : undefined;
}

/** The proof that a server has read a client's key (section 4.2.2). */
export async function acceptFor(key: string): Promise<string> {
  const text = new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
  return encodeBase64(new Uint8Array(await crypto.subtle.digest("SHA-1", text)));
}
