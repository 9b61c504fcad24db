import type { Command } from "../line/command.ts";
import list from "./clusters_list.ts";
import { clusterConsole } from "./cluster_console.ts";
import { kubectl, oc, shell } from "./cluster_programs.ts";
import { eachCluster, isForEach } from "./each_cluster.ts";
import { clusterEmergencyCredentials } from "./emergency_credentials.ts";
import { clusterKubeconfig } from "./kubeconfig.ts";

interface Verb {
  readonly ofCluster: Command;
  /** Whether all that stands behind it is its own, also what looks like an option of ours. */
  readonly takesAll: boolean;
}

/** What the second word of `postern clusters` makes of the first, which then is a NAME. */
const verbs: Readonly<Record<string, Verb>> = {
  kubeconfig: { ofCluster: clusterKubeconfig, takesAll: false },
  shell,
  kubectl,
  oc,
  console: { ofCluster: clusterConsole, takesAll: false },
  "emergency-credentials": { ofCluster: clusterEmergencyCredentials, takesAll: false },
};

const each = eachCluster("clusters");

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
  "--private-key",
  "--passphrase-file",
];

/** `postern clusters …`: a verb as the second word makes the first a NAME, else all words are patterns. */
export default {
  ...list,
  takesWordsAsTheyAre: true,
  help: (width) => helpOf(width),
  completing(words) {
    const [first, second] = positions(words);
    const verb = verbBehind(words, first, second);
    if (verb && second !== undefined) {
      return { parser: verb.ofCluster.parser, words: words.toSpliced(second, 1), besides: [] };
    }
    const isVerb = first !== undefined && second === undefined && !isList(words, first);
    const besides = Object.entries(verbs).map(([name, { ofCluster: { summary } }]) => ({ name, summary }));
    return { parser: list.parser, words, besides: isVerb ? besides : [] };
  },
  start(args, world, context) {
    const asksForHelp = (words: readonly string[]) =>
      words.some((word) => word === "--help" || word === "-h");
    const help = async (command: Pick<Command, "help">) => {
      await world.terminal.out(command.help(Math.max(40, world.terminal.columns)));
      return 0;
    };
    const ours = args.slice(0, dashesIn(args));
    if (isForEach(args)) return asksForHelp(ours) ? help(each) : each.start(args, world, context);
    const [first, second] = positions(args);
    const verb = verbBehind(args, first, second);
    if (verb && second !== undefined) {
      const before = args.slice(0, second);
      const after = args.slice(second + 1);
      if (asksForHelp(verb.takesAll ? before : ours)) return help(verb.ofCluster);
      return verb.ofCluster.start([...before, ...(verb.takesAll ? ["--"] : []), ...after], world, context);
    }
    if (asksForHelp(ours)) return help(this);
    const named = first !== undefined && isList(args, first) ? args.toSpliced(first, 1) : args;
    return list.start(named, world, context);
  },
} satisfies Command;

/** Behind `list` all words are patterns, those too that are verbs elsewhere. */
function verbBehind(args: readonly string[], first = -1, second = -1): Verb | undefined {
  if (isList(args, first)) return undefined;
  const word = args[second] ?? "";
  return Object.hasOwn(verbs, word) ? verbs[word] : undefined;
}

function isList(args: readonly string[], first: number): boolean {
  return args[first] === "list";
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

function helpOf(width: number): string {
  const forms = [...Object.values(verbs).map(({ ofCluster }) => ofCluster), {
    ...each,
    name: "clusters --each",
  }];
  const lines = forms.map(({ name, summary }) => `  postern ${name}\n      ${summary}\n`).join("");
  return `${list.help(width)}\nBesides:\n${lines}`;
}
