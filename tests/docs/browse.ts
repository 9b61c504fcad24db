import { ScriptedBrowser } from "../support/dex.ts";

/** A headless browser as a program: opens the given address and signs in. */
if (import.meta.main) await new ScriptedBrowser().visit(Deno.args[0] ?? "");
