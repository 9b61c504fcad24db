import type { Context } from "./context.ts";
import { mustBe, type Schema } from "./schema.ts";

/**
 * A path of a file, made absolute: expands `~` and `${VAR}` and resolves relative paths against the configuration
 * file. Does not check whether the file exists.
 */
export function file(): Schema<string> {
  const expects = "a file path";
  return {
    expects,
    shapes: ["text"],
    parse(value, context) {
      if (typeof value !== "string" || value === "" || value.includes("\0")) {
        return mustBe(expects, value, context);
      }
      return expandedPath(value, context);
    },
    json: () => ({ type: "string", minLength: 1 }),
  };
}

/** The absolute path; undefined after a reported problem. */
function expandedPath(written: string, context: Context): string | undefined {
  let missing: string | undefined;
  const path = written.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    const value = name === "runtime" ? context.runtime : context.env(name);
    if (!value) missing ??= name;
    return value ?? "";
  });
  if (missing !== undefined) {
    context.report(`uses \${${missing}}, which is not set in the environment`);
    return undefined;
  }
  if (path === "~" || /^~[/\\]/.test(path)) return joined(context.home, path.slice(2));
  if (path.startsWith("~")) {
    context.report("must not begin with another user's home directory: write the full path");
    return undefined;
  }
  return isAbsolute(path) ? normal(path) : joined(context.base, path);
}

function isAbsolute(path: string): boolean {
  return /^(?:\/|\\\\|[A-Za-z]:[/\\])/.test(path);
}

function joined(directory: string, path: string): string {
  return normal(path === "" ? directory : `${directory}/${path}`);
}

/** Removes `.`, `..` and double slashes; the parent of the root is the root. */
function normal(path: string): string {
  const root = /^(?:[A-Za-z]:[/\\]|\\\\|\/)/.exec(path)?.[0] ?? "";
  const isWindows = root !== "" && root !== "/";
  const parts: string[] = [];
  for (const part of path.slice(root.length).split(isWindows ? /[/\\]+/ : /\/+/)) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return isWindows ? `${root.replace("/", "\\")}${parts.join("\\")}` : `${root}${parts.join("/")}`;
}
