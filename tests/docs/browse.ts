import { ScriptedBrowser } from "../support/dex.ts";

/** A browser without a window, as a program: opens the address that it is given, and signs in. */
if (import.meta.main) await new ScriptedBrowser().visit(Deno.args[0] ?? "");
