/** Masks the password of a URL, also of an invalid one: everything up to the last `@` may belong to the password. */
export function maskedUrl(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?([^:@/]*):(?!\/\/).*@/is, "$1$2:***@");
}
