import { type Clock, within } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { PrivateKeys } from "./private_keys.ts";

export interface OpenSecretsOptions {
  /** The source of the messages, for errors. */
  readonly from: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Timeout in ms: messages may hide their recipients, so that thousands must be tried. */
const patience = 120_000;

/** How many keys of other recipients the error lists. */
const mostNamed = 3;

/** The text of the first message that these keys can decrypt. */
export async function openSecrets(
  messages: readonly string[],
  keys: PrivateKeys,
  { from, clock, signal }: OpenSecretsOptions,
): Promise<string> {
  const error = () =>
    new PosternError(
      "timeout",
      `Cannot decrypt the credentials in ${from}: no result within ${patience / 1000} s`,
    );
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
      throw new PosternError(
        "protocol",
        `Cannot decrypt the credentials in ${from}: ${[...problems].join(", ")}`,
        {
          hint: "ask the cluster's administrator to write them again",
        },
      );
    }
    const named = [...others].slice(0, mostNamed).join(", ");
    const more = others.size > mostNamed ? ` and ${others.size - mostNamed} more` : "";
    const damaged = problems.size > 0 ? `; other messages: ${[...problems].join(", ")}` : "";
    throw new PosternError(
      "auth",
      `Cannot decrypt the credentials in ${from}: they are for other keys (${named}${more})${damaged}`,
      {
        hint:
          `ask the administrator to encrypt them for your key ${keys.fingerprint} too, or set another private key`,
      },
    );
  });
}
