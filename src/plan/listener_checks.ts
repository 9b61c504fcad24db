import { isMapping, type Path, type Problem } from "../config/mod.ts";
import { describe } from "../words/mod.ts";
import type { Files } from "../world/mod.ts";
import { type AuthSettings, listenerKinds, type ListenSettings } from "../listeners/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import { passwordIn, readPasswordFile } from "./users.ts";

/**
 * What is wrong with the patterns of `only`. It is looked for here, since listeners know no routing; and in what was
 * written, so that a mistake elsewhere does not hide it.
 */
export function onlyProblems(value: unknown): Problem[] {
  const problems: Problem[] = [];
  for (const kind of listenerKinds) {
    for (const { written, path } of items(partOf(partOf(value, "listen"), kind), ["listen", kind])) {
      for (const { written: text, path: place } of items(partOf(written, "only"), [...path, "only"])) {
        if (typeof text !== "string") continue;
        const parsed = parsePattern(text);
        if ("problem" in parsed) problems.push({ path: place, message: parsed.problem });
        else if (parsed.pattern.kind === "services" || parsed.pattern.kind === "clusterips") {
          problems.push({ path: place, message: `must not be ${text}: no cluster is meant here` });
        } else if (parsed.warning !== undefined) {
          problems.push({ path: place, message: parsed.warning, severity: "warning" });
        }
      }
    }
  }
  return problems;
}

/** Password files of listeners: those that cannot be used, and the text of each, undefined where it cannot be read. */
export async function readPasswords(
  files: Files,
  settings: ListenSettings,
  value: unknown,
): Promise<{ readonly problems: Problem[]; readonly texts: Map<string, string | undefined> }> {
  const problems: Problem[] = [];
  const texts = new Map<string, string | undefined>();
  const read = async (auth: AuthSettings | undefined, path: Path) => {
    for (const [index, user] of (auth?.users ?? []).entries()) {
      texts.set(user.passwordFile, undefined);
      try {
        const text = await readPasswordFile(files, user);
        texts.set(user.passwordFile, text);
        passwordIn(text, user);
      } catch (error) {
        problems.push({ path: [...path, "auth", "users", index, "passwordFile"], message: describe(error) });
      }
    }
  };
  await read(settings.auth, ["listen"]);
  for (const kind of listenerKinds) {
    const places = items(partOf(partOf(value, "listen"), kind), ["listen", kind]);
    for (const [index, { auth }] of (settings[kind] ?? []).entries()) {
      await read(auth, places[index]?.path ?? ["listen", kind]);
    }
  }
  return { problems, texts };
}

/** The items of a list that may be written as its only item, with their places. */
function items(written: unknown, path: Path): { readonly written: unknown; readonly path: Path }[] {
  if (written === undefined) return [];
  if (!Array.isArray(written)) return [{ written, path }];
  return written.map((item: unknown, index) => ({ written: item, path: [...path, index] }));
}

function partOf(value: unknown, key: string): unknown {
  return isMapping(value) ? new Map<string, unknown>(Object.entries(value)).get(key) : undefined;
}
