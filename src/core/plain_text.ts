/** What a peer said, short and without what could write over a terminal: anything but printable ASCII is `?`. */
export function plainText(text: string, { limit = 200 }: { readonly limit?: number } = {}): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, limit);
}
