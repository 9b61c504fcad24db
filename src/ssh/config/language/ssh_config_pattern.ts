/** Whether a text matches a pattern of `*` and `?` (ssh_config(5), PATTERNS), case-sensitively. */
export function matchesSshPattern(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  // The place to backtrack to: after the last star, which then matches one more character. One star is
  // enough.
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === "*") {
      star = inPattern++;
      resume = at;
    } else if (wanted === "?" || wanted === text[at]) {
      at++;
      inPattern++;
    } else if (star >= 0) {
      inPattern = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[inPattern] === "*") inPattern++;
  return inPattern === pattern.length;
}

/**
 * Whether a text matches a comma-separated list of patterns; a negated pattern that matches excludes the
 * text.
 */
export function matchesSshPatternList(text: string, list: string): boolean {
  let matches = false;
  for (const item of list.split(",")) {
    const isNegated = item.startsWith("!");
    if (!matchesSshPattern(text, isNegated ? item.slice(1) : item)) continue;
    if (isNegated) return false;
    matches = true;
  }
  return matches;
}

/** Like `matchesSshPatternList`, but ignores case. */
export function matchesSshHostList(host: string, list: string): boolean {
  return matchesSshPatternList(host.toLowerCase(), list.toLowerCase());
}

/** Whether a host matches the words of a `Host` line. */
export function matchesSshHostLine(host: string, patterns: readonly string[]): boolean {
  let matches = false;
  for (const pattern of patterns) {
    const isNegated = pattern.startsWith("!");
    if (!matchesSshPattern(host, isNegated ? pattern.slice(1) : pattern)) continue;
    if (isNegated) return false;
    matches = true;
  }
  return matches;
}
