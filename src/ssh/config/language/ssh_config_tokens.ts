/** The value of each token, by the letter after `%`. */
export type SshTokens = Readonly<Record<string, string>>;

/** An expanded text, or the reason why it cannot be expanded. */
export type Expanded = { readonly text: string } | { readonly fault: string };

/** Expands `%x` (ssh_config(5), TOKENS) and, where `env` is given, `${NAME}` (ENVIRONMENT VARIABLES). */
export function expandSshTokens(
  text: string,
  tokens: SshTokens,
  env?: (name: string) => string | undefined,
): Expanded {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "$" && text[at + 1] === "{" && env) {
      const end = text.indexOf("}", at);
      if (end < 0) return { fault: 'a "${" is not closed' };
      const name = text.slice(at + 2, end);
      const value = env(name);
      if (value === undefined) return { fault: `the environment has no variable "${name}"` };
      parts.push(value);
      at = end;
    } else if (char === "%") {
      const token = text[++at];
      if (token === undefined) return { fault: 'the value ends with a lone "%"' };
      const value = token === "%" ? "%" : Object.hasOwn(tokens, token) ? tokens[token] : undefined;
      if (value === undefined) return { fault: `the token "%${token}" is not available here` };
      parts.push(value);
    } else parts.push(char);
  }
  return { text: parts.join("") };
}

/** Replaces `~` and `~NAME` at the start; knows the home directory of the local user only. */
export function expandTilde(
  path: string,
  { home, localUser }: { readonly home: string; readonly localUser: string },
): Expanded {
  if (!path.startsWith("~")) return { text: path };
  const slash = path.indexOf("/");
  const name = slash < 0 ? path.slice(1) : path.slice(1, slash);
  if (name !== "" && name !== localUser) return { fault: `the home directory of "${name}" is not known` };
  if (slash < 0) return { text: home };
  return { text: `${home.replace(/\/$/, "")}/${path.slice(slash).replace(/^\/+/, "")}` };
}
