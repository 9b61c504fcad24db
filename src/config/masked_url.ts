/** A URL, or what was meant to be one, without its password: everything up to the last `@` may be part of it. */
export function maskedUrl(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?([^:@/]*):(?!\/\/).*@/is, "$1$2:***@");
}
