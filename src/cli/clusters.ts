import type { Command } from "./command.ts";
import list from "./clusters_list.ts";
import { clusterKubeconfig } from "./kubeconfig.ts";

/** What the second word of `postern clusters` makes of the first, which then is a NAME. */
const verbs: Readonly<Record<string, Command>> = { kubeconfig: clusterKubeconfig };

/** Options whose value is the next word. */
const valued = [
  "--config",
  "--log-level",
  "--log-format",
  "--selector",
  "-l",
  "--exclude",
  "--output",
  "-o",
  "--id",
  "--parallel",
  "--file",
];

/** `postern clusters …`: a verb as the second word makes the first a NAME, else all words are patterns. */
export default {
  ...list,
  takesWordsAsTheyAre: true,
  help: (width) => helpOf(list, Object.values(verbs), width),
  start(args, world, context) {
    const [first, second] = positions(args);
    const verb = second === undefined ? undefined : verbAt(args, second);
    if (verb && second !== undefined) {
      // What stands behind the verb is its own; the words before it are ours.
      return verb.start([...args.slice(0, second), ...args.slice(second + 1)], world, context);
    }
    if (args.slice(0, dashesIn(args)).some((word) => word === "--help" || word === "-h")) {
      return world.terminal.out(this.help(Math.max(40, world.terminal.columns))).then(() => 0);
    }
    const isList = first !== undefined && args[first] === "list";
    return list.start(isList ? args.toSpliced(first, 1) : args, world, context);
  },
} satisfies Command;

function verbAt(args: readonly string[], at: number): Command | undefined {
  const word = args[at] ?? "";
  return Object.hasOwn(verbs, word) ? verbs[word] : undefined;
}

/** Where the first two words are that are no options. */
function positions(args: readonly string[]): number[] {
  const found: number[] = [];
  const end = dashesIn(args);
  for (let at = 0; at < end && found.length < 2; at++) {
    const word = args[at] ?? "";
    if (valued.includes(word)) at++;
    else if (!word.startsWith("-") || word === "-") found.push(at);
  }
  return found;
}

function dashesIn(args: readonly string[]): number {
  const at = args.indexOf("--");
  return at < 0 ? args.length : at;
}

function helpOf(list: Command, verbs: readonly Command[], width: number): string {
  const forms = verbs.map(({ name, summary }) => `  postern ${name}\n      ${summary}`);
  return forms.length === 0
    ? list.help(width)
    : `${list.help(width)}\nIn one cluster:\n${forms.join("\n")}\n`;
}
