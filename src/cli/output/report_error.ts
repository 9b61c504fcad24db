import { asPosternError, describe, exitCode } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { paintFor } from "./paint.ts";
import { printableLines } from "./printable.ts";

/** Prints an error with its hint and returns the exit code. Prints nothing for an interrupt. */
export async function reportError(
  error: unknown,
  world: World,
  { showStack }: { showStack: boolean },
): Promise<number> {
  const known = asPosternError(error);
  if (known.code === "cancelled") return exitCode(known);
  const { bold, red } = paintFor(world, "err");
  const hint = known.hint ??
    (known.code === "internal"
      ? "run the command again with --log-level debug and report its output"
      : undefined);
  const lines = [`${bold("postern:")} ${red("error:")} ${printableLines(describe(known))}`];
  if (hint !== undefined) lines.push(`${bold("postern:")} hint: ${printableLines(hint)}`);
  if (showStack) lines.push(...stacks(error));
  await world.terminal.err(`${lines.join("\n")}\n`);
  return exitCode(known);
}

function stacks(error: unknown): string[] {
  const out: string[] = [];
  for (let current = error; current instanceof Error && out.length < 5; current = current.cause) {
    out.push(current.stack ?? String(current));
  }
  return out;
}
