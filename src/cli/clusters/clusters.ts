import { clusterForm, type clusterVerbs } from "../../permissions/mod.ts";
import type { Command } from "../line/command.ts";
import list from "./clusters_list.ts";
import { clusterConsole } from "./cluster_console.ts";
import { kubectl, oc, shell } from "./cluster_programs.ts";
import { eachCluster, isForEach } from "./each_cluster.ts";
import { clusterEmergencyCredentials } from "./emergency_credentials.ts";
import { clusterKubeconfig } from "./kubeconfig.ts";

/** The verbs of `postern clusters NAME VERB`. */
const verbs: Readonly<Record<typeof clusterVerbs[number], Command>> = {
  kubeconfig: clusterKubeconfig,
  shell: shell.ofCluster,
  kubectl: kubectl.ofCluster,
  oc: oc.ofCluster,
  console: clusterConsole,
  "emergency-credentials": clusterEmergencyCredentials,
};

const each = eachCluster("clusters");

/** `postern clusters …`: the first word is a NAME when a verb follows it; otherwise all words are patterns. */
export default {
  ...list,
  help: (width) => helpOf(width),
  form(args) {
    if (isForEach(args, "clusters")) return { command: each, args };
    const { first = -1, second = -1, isList, verb } = clusterForm(args);
    if (verb) return { command: verbs[verb], args: args.toSpliced(second, 1) };
    return { command: this, args: isList ? args.toSpliced(first, 1) : args };
  },
  completing(words) {
    const { first, second = -1, isList, verb } = clusterForm(words);
    if (verb) {
      return { parser: verbs[verb].parser, words: words.toSpliced(second, 1), more: [] };
    }
    const isVerb = first !== undefined && second < 0 && !isList;
    const more = Object.entries(verbs).map(([name, { summary }]) => ({ name, summary }));
    return { parser: list.parser, words, more: isVerb ? more : [] };
  },
} satisfies Command;

function helpOf(width: number): string {
  const forms = [...Object.values(verbs), {
    ...each,
    name: "clusters --each",
  }];
  const lines = forms.map(({ name, summary }) => `  postern ${name}\n      ${summary}\n`).join("");
  return `${list.help(width)}\nOther forms:\n${lines}`;
}
