/**
 * Makes a server's text safe for the terminal: limits its length, removes control and hidden characters,
 * keeps line breaks.
 */
export function foreignText(text: string, { limit = 1000 }: { readonly limit?: number } = {}): string {
  return text.slice(0, limit).replace(/\r\n?/g, "\n").replace(/[^\P{C}\n]/gu, "?");
}
