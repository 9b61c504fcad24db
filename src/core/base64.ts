import type { Bytes } from "./bytes.ts";

/** The bytes of a base64 text, as `atob` takes it: with blanks, and without its padding; undefined where it is none. */
export function decodeBase64(text: string): Bytes | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    // The only thing that `atob` can say.
    return undefined;
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Writes padded base64. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** A block of PEM in lines of 64 characters (RFC 7468, section 2). */
export function pemBlock(label: string, base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
