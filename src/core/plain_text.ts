/**
 * Makes a peer's text safe for the terminal: limits its length, and replaces everything but printable ASCII
 * with `?`.
 */
export function plainText(text: string, { limit = 200 }: { readonly limit?: number } = {}): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, limit);
}
