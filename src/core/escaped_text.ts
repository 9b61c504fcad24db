/** Replaces characters with their numeric escapes, as in strings of JSON, YAML and JavaScript. */
export function withEscapes(text: string, characters: RegExp): string {
  return text.replace(characters, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Escapes a text for HTML, between tags or in a quoted attribute. */
export function escapedMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
