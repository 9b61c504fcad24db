/**
 * Whether a ProxyCommand is `postern nc %h %p`, as `postern ssh-config` writes it. The user's ssh runs it to get to
 * postern; postern's own ssh must not, because it would wait for itself. Another program with these words as
 * arguments, such as an ssh to a host named postern, is not ours.
 */
export function isOwnCommand(command: string): boolean {
  const words = [...command.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replace(/["']/g, "")
  );
  const program = words.findIndex((word) => !/^(?:exec|(?:\/usr\/bin\/)?env|\w+=.*)$/.test(word));
  // From source, Deno runs the program.
  const isOfDeno = isNamed(words[program], "deno");
  const own = isOfDeno ? words.findIndex((word) => isNamed(word, "main.ts")) : program;
  if (own < 0 || !isOfDeno && !isNamed(words[own], "postern")) return false;
  const rest = words.slice(own + 1);
  const verb = rest.findIndex((word) => word === "nc" || word === "connect");
  return verb >= 0 && rest.slice(verb).some((word) => /^\[?%h\b/.test(word));
}

function isNamed(word: string | undefined, name: string): boolean {
  return word?.replace(/^.*[\\/]/, "").replace(/\.exe$/i, "") === name;
}
