/** The whitespace of Go's `strings.TrimSpace`; JavaScript's `trim` differs in two characters. */
const space = "\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const around = new RegExp(`^[${space}]+|[${space}]+$`, "g");

/** Trims a text like Go's `strings.TrimSpace`. */
export function goTrimmed(text: string): string {
  return text.replace(around, "");
}

/** Compares like Go's `sort.Strings`: by UTF-8 bytes, which is the order of code points. */
export function byBytes(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    // Surrogates encode code points above all others.
    const isLeftPair = left >= 0xd800 && left <= 0xdfff;
    const isRightPair = right >= 0xd800 && right <= 0xdfff;
    if (isLeftPair !== isRightPair) return isLeftPair ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
}
