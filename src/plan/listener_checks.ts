import { isMapping, type Path, type Problem } from "../config/mod.ts";
import { describe } from "../words/mod.ts";
import { type AuthSettings, listenerKinds, type ListenSettings } from "../listeners/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import type { ConfigFiles } from "./config_files.ts";
import { passwordIn } from "./users.ts";

/**
 * Finds problems of the patterns in `only`. The check is here because listeners do not depend on routing. It
 * reads the raw configuration, so that an error elsewhere does not hide these problems.
 */
export function onlyProblems(value: unknown): Problem[] {
  const problems: Problem[] = [];
  for (const kind of [...listenerKinds, "forward"]) {
    for (const { written, path } of items(partOf(partOf(value, "listen"), kind), ["listen", kind])) {
      for (const { written: text, path: place } of items(partOf(written, "only"), [...path, "only"])) {
        if (typeof text !== "string") continue;
        const parsed = parsePattern(text);
        if ("problem" in parsed) problems.push({ path: place, message: parsed.problem });
        else if (parsed.pattern.kind === "services" || parsed.pattern.kind === "clusterips") {
          problems.push({ path: place, message: `must not be ${text}: a table needs a cluster` });
        } else if (parsed.warning !== undefined) {
          problems.push({ path: place, message: parsed.warning, severity: "warning" });
        }
      }
    }
  }
  return problems;
}

/** Finds problems of the listeners' password files. */
export async function passwordProblems(
  files: ConfigFiles,
  settings: ListenSettings,
  value: unknown,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const check = async (auth: AuthSettings | undefined, path: Path) => {
    for (const [index, user] of (auth?.users ?? []).entries()) {
      try {
        passwordIn(await files.password(user), user);
      } catch (error) {
        problems.push({ path: [...path, "auth", "users", index, "passwordFile"], message: describe(error) });
      }
    }
  };
  await check(settings.auth, ["listen"]);
  for (const kind of listenerKinds) {
    const places = items(partOf(partOf(value, "listen"), kind), ["listen", kind]);
    for (const [index, { auth }] of (settings[kind] ?? []).entries()) {
      await check(auth, places[index]?.path ?? ["listen", kind]);
    }
  }
  return problems;
}

/** Returns the items of a value that may be a list or a single item, with their paths. */
function items(written: unknown, path: Path): { readonly written: unknown; readonly path: Path }[] {
  if (written === undefined) return [];
  if (!Array.isArray(written)) return [{ written, path }];
  return written.map((item: unknown, index) => ({ written: item, path: [...path, index] }));
}

function partOf(value: unknown, key: string): unknown {
  return isMapping(value) ? new Map<string, unknown>(Object.entries(value)).get(key) : undefined;
}
