/** The position of a value: keys of mappings and indexes of lists, from the top. */
export type Path = readonly (string | number)[];

/** An error or a warning in a configuration. */
export interface Problem {
  readonly path: Path;
  /** The problem and what would be valid, as text after the path. */
  readonly message: string;
  /** Default: `error`. */
  readonly severity?: "error" | "warning";
  /** The problem concerns the key, not its value. */
  readonly on?: "key";
  /** The position in the text, if the path does not give it. */
  readonly position?: Position;
}

/** A position in a text; both numbers start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What a schema knows about the position of the value that it parses. */
export interface Context {
  readonly path: Path;
  /** Collects all problems of one parse. */
  readonly problems: Problem[];
  /** The directory of the file, for relative paths. */
  readonly base: string;
  readonly home: string;
  /** The value of `${runtime}`. */
  readonly runtime: string;
  /** The default kubeconfigs, which postern merges as kubectl does. */
  readonly kubeconfigs: readonly string[];
  readonly depth: number;
  env(name: string): string | undefined;
  /** The context of a part of this value. */
  at(key: string | number): Context;
  report(message: string, severity?: "error" | "warning"): void;
  /** The same position with a separate list of problems, to try a schema silently. */
  trial(): Context;
}

export interface ContextOptions {
  readonly base: string;
  readonly home?: string;
  readonly runtime?: string;
  readonly kubeconfigs?: readonly string[];
  readonly env?: (name: string) => string | undefined;
}

export function rootContext(
  { base, home = "", runtime = "", kubeconfigs = [], env = () => undefined }: ContextOptions,
): Context {
  return new Place({ base, home, runtime, kubeconfigs, env }, [], undefined, "");
}

/** A path as text: `routes[3].to[0]`; unusual keys are quoted. */
export function formatPath(path: Path): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else text += `${text === "" ? "" : "."}${/^[^\s."[\]]{1,100}$/.test(key) ? key : quotedKey(key)}`;
  }
  return text;
}

function quotedKey(key: string): string {
  return JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key);
}

/** Links to its parent instead of storing a path: postern creates thousands for each path that it prints. */
class Place implements Context {
  readonly #world: Required<ContextOptions>;
  readonly #parent: Place | undefined;
  readonly #key: string | number;
  readonly problems: Problem[];
  readonly depth: number;

  constructor(
    world: Required<ContextOptions>,
    problems: Problem[],
    parent: Place | undefined,
    key: string | number,
  ) {
    this.#world = world;
    this.problems = problems;
    this.#parent = parent;
    this.#key = key;
    this.depth = parent ? parent.depth + 1 : 0;
  }

  get path(): Path {
    const path: (string | number)[] = [];
    let parent = this.#parent;
    let key = this.#key;
    while (parent) {
      path.push(key);
      key = parent.#key;
      parent = parent.#parent;
    }
    return path.reverse();
  }

  get base(): string {
    return this.#world.base;
  }

  get home(): string {
    return this.#world.home;
  }

  get runtime(): string {
    return this.#world.runtime;
  }

  get kubeconfigs(): readonly string[] {
    return this.#world.kubeconfigs;
  }

  env(name: string): string | undefined {
    return this.#world.env(name);
  }

  at(key: string | number): Context {
    return new Place(this.#world, this.problems, this, key);
  }

  report(message: string, severity?: "error" | "warning"): void {
    this.problems.push({ path: this.path, message, ...(severity === "warning" && { severity }) });
  }

  trial(): Context {
    return new Place(this.#world, [], this.#parent, this.#key);
  }
}
