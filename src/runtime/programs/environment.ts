/** A variable of the environment: of the copy that was taken, else as it is now. */
export function variable(name: string): string | undefined {
  return read(name);
}

let isCopied = false;
let read = (name: string): string | undefined => Deno.env.get(name);

/** Copies these variables, or all of them, so that the right to read the environment can be given up. */
export function copyEnvironment(names: "any" | readonly string[]): void {
  const isOpen = Deno.permissions.querySync({ name: "env" }).state === "granted";
  // Started by hand with a list of names: which ones the configuration wants is not known yet.
  if (names === "any" && !isOpen) return;
  const key = (name: string) => Deno.build.os === "windows" ? name.toUpperCase() : name;
  // Without a prototype, so that no package can watch what is looked up.
  const taken: Record<string, string> = Object.create(null);
  const found = names === "any" ? Object.entries(Deno.env.toObject()) : named(names);
  for (const [name, value] of found) taken[key(name)] = value;
  isCopied = true;
  const known = names === "any" ? undefined : new Set(names.map(key));
  // A name that the command may not read fails as it always did.
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
 * Gives up the right to read the environment once it has been copied: packages that load later find none of it.
 * Programs that postern starts still inherit it, because the system hands it on.
 */
export function hideEnvironment(): void {
  if (!isCopied) return;
  Deno.permissions.revokeSync({ name: "env" });
  hideFromNode();
}

/**
 * The YAML library asks `process.env` for two variables of its own, and Deno would throw there. A bundle answers that
 * itself, without loading node's `process`.
 */
function hideFromNode(): void {
  if (Deno.build.standalone) return;
  const { process } = globalThis as { process?: object };
  if (process) Object.defineProperty(process, "env", { value: {} });
}
