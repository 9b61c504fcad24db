/** Parses hexadecimal digits and ignores spaces. */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  const digits = hex.replace(/\s/g, "");
  return Uint8Array.from(
    { length: digits.length / 2 },
    (_, at) => parseInt(digits.slice(at * 2, at * 2 + 2), 16),
  );
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
