import { option } from "@optique/core/primitives";
import type { ProgramKind } from "../../routing/mod.ts";
import { words } from "../line/options.ts";

/** The values of `--for` that stand for variables. */
export const programKinds = [
  "go",
  "curl",
  "python",
  "java",
  "jdbc",
  "node",
  "ssh",
  "git",
  "all",
] as const satisfies readonly ProgramKind[];

/** `--socks`. */
export const socksOption = option("--socks", {
  description: words(
    "Set ALL_PROXY to the SOCKS proxy (default: the HTTP proxy). Some HTTP libraries fail with it.",
  ),
});
