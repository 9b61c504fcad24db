/** Whether a text matches a pattern of `*` and `?` (ssh_config(5), PATTERNS); letters count as written. */
export function matchesSshPattern(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  // Where to go back to: behind the last star, with one more character given to it. One star back is enough.
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

/** Whether a text matches a comma list of patterns; a negated one that matches refuses whatever else does. */
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

/** The same for host names, whose letters' case does not count. */
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
