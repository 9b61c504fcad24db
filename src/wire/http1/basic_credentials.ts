import { decodeBase64, encodeBase64 } from "../../core/mod.ts";
/** A user and password for HTTP `Basic` (RFC 7617). */
export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** Reads the value of `Authorization` or `Proxy-Authorization`; undefined for other schemes than `Basic`. */
export function decodeBasic(value: string | undefined): BasicCredentials | undefined {
  const bytes = decodeBase64(/^basic +([A-Za-z0-9+/]+)={0,2}$/i.exec(value ?? "")?.[1] ?? "");
  if (!bytes) return undefined;
  const text = new TextDecoder().decode(bytes);
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Encodes credentials as a `Basic` value. */
export function encodeBasic({ user, password }: BasicCredentials): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${encodeBase64(bytes)}`;
}
