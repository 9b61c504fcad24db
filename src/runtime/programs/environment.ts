/** Returns a variable of the environment: from the copy, if there is one, else the current value. */
export function variable(name: string): string | undefined {
  return read(name);
}

let isCopied = false;
let read = (name: string): string | undefined => Deno.env.get(name);

/** Copies these variables, or all, so that the permission to read the environment can be dropped. */
export function copyEnvironment(names: "any" | readonly string[]): void {
  const isOpen = Deno.permissions.querySync({ name: "env" }).state === "granted";
  // Deno was started with a list of names, which need not include the variables of the configuration.
  if (names === "any" && !isOpen) return;
  const key = (name: string) => Deno.build.os === "windows" ? name.toUpperCase() : name;
  // Without a prototype, so that no package can observe lookups.
  const taken: Record<string, string> = Object.create(null);
  const found = names === "any" ? Object.entries(Deno.env.toObject()) : named(names);
  for (const [name, value] of found) taken[key(name)] = value;
  isCopied = true;
  const known = names === "any" ? undefined : new Set(names.map(key));
  // A name without permission throws as before.
  read = (name) => known && !known.has(key(name)) ? Deno.env.get(name) : taken[key(name)];
}

function named(names: readonly string[]): [string, string][] {
  return names.flatMap((name): [string, string][] => {
    if (Deno.permissions.querySync({ name: "env", variable: name }).state !== "granted") return [];
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
}

/**
 * Drops the permission to read the environment after the copy, so that packages loaded later cannot read it.
 * Programs that postern starts still inherit the environment from the system.
 */
export function hideEnvironment(): void {
  if (!isCopied) return;
  Deno.permissions.revokeSync({ name: "env" });
  hideFromNode();
}

/**
 * Replaces `process.env` for the YAML library, which reads two variables there; Deno would throw. A bundle
 * handles that itself, without loading node's `process`.
 */
function hideFromNode(): void {
  if (Deno.build.standalone) return;
  const { process } = globalThis as { process?: object };
  if (process) Object.defineProperty(process, "env", { value: {} });
}
