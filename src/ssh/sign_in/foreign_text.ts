/** A foreign text for a person: short, and without what could write over a terminal or hide. Lines stay lines. */
export function foreignText(text: string, { limit = 1000 }: { readonly limit?: number } = {}): string {
  return text.slice(0, limit).replace(/\r\n?/g, "\n").replace(/[^\P{C}\n]/gu, "?");
}
