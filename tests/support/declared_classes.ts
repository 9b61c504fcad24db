/** The declarations and constructor calls of a source file, for the contract tests. */
export interface SourceFile {
  readonly path: string;
  /** Each class with its base class and interfaces. */
  readonly classes: ReadonlyMap<string, readonly string[]>;
  /** The classes in `new` expressions. */
  readonly made: ReadonlySet<string>;
  /** The keys of each object literal; a symbol such as `Symbol.dispose` counts as `dispose`. */
  readonly literals: readonly (readonly string[])[];
  /** The types in `as` and `satisfies` expressions. */
  readonly asserted: ReadonlySet<string>;
}

const root = new URL("../../", import.meta.url);

/** Reads every TypeScript file below a directory of the project. */
export async function readSources(directory: string): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(`${directory}/`, root))) {
    const path = `${directory}/${name}`;
    if (isDirectory) files.push(...await readSources(path));
    else if (name.endsWith(".ts")) files.push(readSource(path, await Deno.readTextFile(new URL(path, root))));
  }
  return files;
}

/** Reads one source from the syntax tree of Deno's linter. */
export function readSource(path: string, text: string): SourceFile {
  const classes = new Map<string, string[]>();
  const made = new Set<string>();
  const literals: string[][] = [];
  const asserted = new Set<string>();
  const readClass = (node: Deno.lint.ClassDeclaration | Deno.lint.ClassExpression) =>
    void classes.set(nameOf(node.id), [
      nameOf(node.superClass),
      ...node.implements.map(({ expression }) => nameOf(expression)),
    ]);
  const readAssertion = (
    { typeAnnotation: type }: Deno.lint.TSAsExpression | Deno.lint.TSSatisfiesExpression,
  ) => void asserted.add(type.type === "TSTypeReference" ? nameOf(type.typeName) : "");
  const visitor: Deno.lint.LintVisitor = {
    ClassDeclaration: readClass,
    ClassExpression: readClass,
    NewExpression: (node) => void made.add(nameOf(node.callee)),
    ObjectExpression: ({ properties }) =>
      void literals.push(properties.map((each) => each.type === "Property" ? nameOf(each.key) : "")),
    TSAsExpression: readAssertion,
    TSSatisfiesExpression: readAssertion,
  };
  const plugin: Deno.lint.Plugin = { name: "sources", rules: { read: { create: () => visitor } } };
  Deno.lint.runPlugin(plugin, new URL(path, root).pathname, text);
  return { path, classes, made, literals, asserted };
}

function nameOf(node: Deno.lint.Node | null): string {
  if (node?.type === "Identifier") return node.name;
  if (node?.type === "MemberExpression") return nameOf(node.property);
  return node?.type === "Literal" ? String(node.value) : "";
}

/** Returns all classes that directly or indirectly implement a type. */
export function classesOf(type: string, files: readonly SourceFile[]): ReadonlySet<string> {
  const found = new Set([type]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { classes } of files) {
      for (const [name, own] of classes) if (own.some((each) => found.has(each))) found.add(name);
    }
  }
  found.delete(type);
  return found;
}
