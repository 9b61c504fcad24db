/** The output formats of `postern env`. */
export type Shell = "sh" | "fish" | "powershell" | "json";

/**
 * One change of an environment. A copy saves a value without printing it, because it may contain a password.
 */
export type EnvironmentChange =
  | { readonly set: string; readonly value: string }
  | { readonly copy: string; readonly to: string }
  | { readonly unset: string };

/**
 * Formats the changes as lines to evaluate; as JSON, an object of values, where null means unset and copies
 * are omitted.
 */
export function shellLines(changes: readonly EnvironmentChange[], shell: Shell): string {
  if (shell === "json") {
    const values = changes.flatMap((change): [string, string | null][] => {
      if ("set" in change) return [[change.set, change.value]];
      return "unset" in change ? [[change.unset, null]] : [];
    });
    return `${JSON.stringify(Object.fromEntries(values), null, 2)}\n`;
  }
  const { set, copy, unset } = languages[shell];
  return changes.map((change) => {
    if ("set" in change) return `${set(change.set, change.value)}\n`;
    return `${"copy" in change ? copy(change.copy, change.to) : unset(change.unset)}\n`;
  }).join("");
}

/** A word for a POSIX shell. */
export function posixWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : quotedPosix(word);
}

function quotedPosix(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Language {
  set(name: string, value: string): string;
  copy(from: string, to: string): string;
  unset(name: string): string;
}

const languages: Record<Exclude<Shell, "json">, Language> = {
  sh: {
    set: (name, value) => `export ${name}=${quotedPosix(value)}`,
    copy: (from, to) => `export ${to}="\${${from}-}"`,
    unset: (name) => `unset ${name}`,
  },
  fish: {
    set: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, "\\$&")}'`,
    copy: (from, to) => `set -gx ${to} "$${from}"`,
    unset: (name) => `set -e ${name}`,
  },
  powershell: {
    // PowerShell treats typographic quotes as plain ones, so each of them ends a text unless doubled.
    set: (name, value) => `$env:${name} = '${value.replace(/['\u2018-\u201b]/g, "$&$&")}'`,
    copy: (from, to) => `$env:${to} = $env:${from}`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
  },
};
