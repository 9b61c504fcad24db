const root = new URL("../../", import.meta.url);

/** The TypeScript files below a directory of the repository, with paths from its root. */
export async function* sourceTexts(directory: string): AsyncGenerator<readonly [path: string, text: string]> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(`${directory}/`, root))) {
    const path = `${directory}/${name}`;
    if (isDirectory) yield* sourceTexts(path);
    else if (name.endsWith(".ts")) yield [path, await Deno.readTextFile(new URL(path, root))];
  }
}

/** The string and template literals of a source, joined where `+` joins them; `x` stands for each expression. */
export function stringsOf(source: string): string[] {
  const found: string[] = [];
  const add = (node: Deno.lint.Literal | Deno.lint.TemplateLiteral | Deno.lint.BinaryExpression) => {
    const text = textOf(node);
    if (text !== undefined && (!isSum(node.parent) || textOf(node.parent) === undefined)) found.push(text);
  };
  // On leaving, so that a literal inside an expression of a template comes before the template.
  const visitor = { "Literal:exit": add, "TemplateLiteral:exit": add, "BinaryExpression:exit": add };
  const plugin = { name: "strings", rules: { read: { create: () => visitor } } };
  Deno.lint.runPlugin(plugin as Deno.lint.Plugin, "source.ts", source);
  return found;
}

/** The text of a literal or of a sum with one; undefined for any other expression. */
function textOf(node: Deno.lint.Node): string | undefined {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
  if (node.type === "TemplateLiteral") return node.quasis.map(({ cooked }) => cooked).join("x");
  if (!isSum(node)) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : `${left ?? "x"}${right ?? "x"}`;
}

function isSum(node: Deno.lint.Node): node is Deno.lint.BinaryExpression {
  return node.type === "BinaryExpression" && node.operator === "+";
}
