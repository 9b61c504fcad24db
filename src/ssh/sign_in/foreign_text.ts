/**
 * Makes a server's text safe for the terminal: limits its length, removes control and hidden characters,
 * keeps line breaks.
 */
export function foreignText(text: string, { limit = 1000 }: { readonly limit?: number } = {}): string {
  return text.slice(0, limit).replace(/\r\n?/g, "\n").replace(/[^\P{C}\n]/gu, "?");
}

/**
 * The lines of a program's error output that may explain its failure. A postern among the programs (`postern nc` as
 * ProxyCommand) ends with a hint, which is not the cause.
 */
export function causeLines(stderr: string): string[] {
  const lines = foreignText(stderr, { limit: 16 * 1024 }).split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("postern: hint: "))
    .map((line) =>
      line.replace(/^postern: error: (?:Cannot )?/, (said) => said.endsWith("Cannot ") ? "cannot " : "")
    );
}
