// The first thing main.ts loads: this file imports nothing.

/** The kinds of permission that Deno knows. */
export type PermissionKind = "read" | "write" | "net" | "env" | "sys" | "run" | "ffi" | "import";

const allKinds: readonly PermissionKind[] = ["read", "write", "net", "env", "sys", "run", "ffi", "import"];

/** Gives back, for good, every permission of a kind that is not in `kinds`. */
export function keepOnly(kinds: readonly PermissionKind[]): void {
  for (const name of allKinds) {
    if (!kinds.includes(name)) Deno.permissions.revokeSync({ name });
  }
}

/** The flag that would have allowed what failed (`--allow-read`, `--allow-sys=uid`); undefined where the failure is another one. */
export function missingFlag(error: unknown): string | undefined {
  if (!(error instanceof Deno.errors.NotCapable)) return undefined;
  const [, kind = "all", what] = /Requires ([a-z]+) access(?: to "([^"]*)")?/.exec(error.message) ?? [];
  // Paths and addresses are granted by the directory or as a whole, so the whole value would mislead.
  return what !== undefined && (kind === "sys" || kind === "env")
    ? `--allow-${kind}=${what}`
    : `--allow-${kind}`;
}
