/** Where a value sits: keys of mappings and indexes of lists, from the top. */
export type Path = readonly (string | number)[];

/** One thing that is wrong, or only worth a word. */
export interface Problem {
  readonly path: Path;
  /** What is wrong and what would be right, to be read after the path. */
  readonly message: string;
  /** `error` when absent. */
  readonly severity?: "error" | "warning";
  /** The problem is the key itself, not its value. */
  readonly on?: "key";
  /** Where in the text, when the path does not tell. */
  readonly position?: Position;
}

/** A place in a text, both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What a schema knows about the place of the value it parses. */
export interface Context {
  readonly path: Path;
  /** Where all problems of one parse gather. */
  readonly problems: Problem[];
  /** The directory of the file, for relative paths. */
  readonly base: string;
  readonly home: string;
  /** What `${runtime}` stands for. */
  readonly runtime: string;
  /** The kubeconfigs that count where the configuration names none, merged as kubectl does. */
  readonly kubeconfigs: readonly string[];
  readonly depth: number;
  env(name: string): string | undefined;
  /** The place of a part of this value. */
  at(key: string | number): Context;
  report(message: string, severity?: "error" | "warning"): void;
  /** The same place with a list of its own, to try a schema without saying so. */
  trial(): Context;
}

export interface ContextOptions {
  readonly base: string;
  readonly home?: string;
  readonly runtime?: string;
  readonly kubeconfigs?: readonly string[];
  readonly env?: (name: string) => string | undefined;
}

/** The place of a whole document, where a parse begins. */
export function rootContext(
  { base, home = "", runtime = "", kubeconfigs = [], env = () => undefined }: ContextOptions,
): Context {
  return new Place({ base, home, runtime, kubeconfigs, env }, [], undefined, "");
}

/** A path as people write it: `routes[3].to[0]`; odd keys in quotes. */
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

/** Links to its parent instead of holding a path: thousands of places are made for each one that is printed. */
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
