import type { Process } from "./world.ts";

/** Names the ssh hosts whose ProxyCommand runs this process, separated by blanks. */
export const hopsVariable = "POSTERN_HOPS";

/** The ssh hosts whose ProxyCommand runs this process: a path to its target must not use them. */
export function waitingHops({ process }: { readonly process: Pick<Process, "env"> }): readonly string[] {
  return (process.env(hopsVariable) ?? "").split(" ").filter((hop) => hop !== "");
}
