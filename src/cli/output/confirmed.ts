import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";

/** Asks the user to confirm; throws on no, and without a terminal. */
export async function confirmed(
  question: string,
  { terminal }: Pick<World, "terminal">,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  const answer = await terminal.ask({ text: `${question} [y/N] `, echo: true }, { signal });
  if (answer === undefined) {
    throw new PosternError("usage", "Cannot ask for confirmation: no terminal", {
      hint: "confirm with --yes",
    });
  }
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new PosternError("cancelled", "Cannot continue: not confirmed", { exit: 1 });
}
