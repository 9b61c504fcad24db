import { type Clock, within } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { PrivateKeys } from "./private_keys.ts";

export interface OpenSecretsOptions {
  /** Where they were, for messages. */
  readonly from: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How long it may take, in ms: thousands of messages may hide whom they are for, so that only trying tells. */
const patience = 120_000;

/** How many foreign keys are named. */
const mostNamed = 3;

/** The text of the first message that is for our keys and can be opened. */
export async function openSecrets(
  messages: readonly string[],
  keys: PrivateKeys,
  { from, clock, signal }: OpenSecretsOptions,
): Promise<string> {
  const error = () =>
    new PosternError("timeout", `Cannot decrypt what is in ${from}: not done within ${patience / 1000} s`);
  return await within({ clock, ms: patience, signal, error }, async (signal) => {
    const others = new Set<string>();
    const problems = new Set<string>();
    for (const message of messages) {
      signal.throwIfAborted();
      const opened = await keys.open(message);
      if ("text" in opened) return opened.text;
      if ("problem" in opened) problems.add(opened.problem);
      else for (const id of opened.otherKeys) others.add(/^0+$/.test(id) ? "a hidden key" : id);
    }
    if (others.size === 0) {
      throw new PosternError("protocol", `Cannot decrypt what is in ${from}: ${[...problems].join(", ")}`, {
        hint: "whoever runs the cluster has to write it anew",
      });
    }
    const named = [...others].slice(0, mostNamed).join(", ");
    const more = others.size > mostNamed ? ` and ${others.size - mostNamed} more` : "";
    const besides = problems.size > 0 ? `; of one ${[...problems].join(", ")}` : "";
    throw new PosternError(
      "auth",
      `Cannot decrypt what is in ${from}: it is for other keys than ours (${named}${more})${besides}`,
      { hint: `ask that it be written for your key ${keys.fingerprint} too, or name another private key` },
    );
  });
}
