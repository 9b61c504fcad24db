/** A text without its percent-escapes; undefined where a percent sign encodes nothing, or no UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
