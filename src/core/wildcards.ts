/** A pattern for whole texts, in which `*` is any text and `?` any character. */
export function wildcardPattern(text: string, flags = "s"): RegExp {
  const source = text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*").replaceAll("?", ".");
  return new RegExp(`^${source}$`, flags);
}
