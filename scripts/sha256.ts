/** The SHA-256 of a file, in hexadecimal. */
export async function sha256(file: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(file))).toHex();
}
