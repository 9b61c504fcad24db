import type { Bytes } from "./bytes.ts";

/** Decodes base64 as `atob` does: blanks are allowed, padding is optional. Undefined for invalid text. */
export function decodeBase64(text: string): Bytes | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    // `atob` throws for invalid text only.
    return undefined;
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Encodes bytes as padded base64. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Formats a PEM block with lines of 64 characters (RFC 7468, section 2). */
export function pemBlock(label: string, base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
