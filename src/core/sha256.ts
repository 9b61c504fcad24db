import type { Bytes } from "./bytes.ts";

/** Returns the SHA-256 of bytes, or of a text as UTF-8. */
export async function sha256(data: string | Bytes): Promise<Bytes> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
