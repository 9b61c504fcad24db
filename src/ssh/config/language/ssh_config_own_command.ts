/**
 * Whether a ProxyCommand is `postern nc %h %p`, as `postern ssh-config` writes it. The user's ssh runs it to get to
 * postern; postern's own ssh must not, because it would wait for itself.
 */
export function isOwnCommand(command: string): boolean {
  return /(?:^|[\s/\\"'])(?:postern(?:\.exe)?|main\.ts)["']?\s+nc\s(?:.*\s)?["']?%h\b/.test(command);
}
