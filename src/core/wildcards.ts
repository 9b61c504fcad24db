/** Returns a pattern for complete texts, in which `*` matches any text and `?` any character. */
export function wildcardPattern(text: string, flags = "s"): RegExp {
  const source = text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*").replaceAll("?", ".");
  return new RegExp(`^${source}$`, flags);
}
