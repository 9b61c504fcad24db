import { argumentWords, delimitedWords } from "./ssh_config_words.ts";

/** One condition of a `Match` line. */
export interface SshCriterion {
  /** In lower case. */
  readonly name: string;
  readonly isNegated: boolean;
  /** Empty for conditions without an argument. */
  readonly argument: string;
}

/** The conditions of a `Match` line, or the error in it. */
export type SshCriteria = { readonly criteria: readonly SshCriterion[] } | { readonly fault: string };

const withoutArgument = ["all", "canonical", "final"];
/** Conditions that need an argument. */
const withArgument = ["host", "originalhost", "user", "localuser", "exec", "tagged"];

/** Conditions of newer OpenSSH versions, which the built-in engine cannot evaluate. */
export const unjudgedSshCriteria: readonly string[] = ["localnetwork", "sessiontype", "command", "version"];

const sshCriterionNames: readonly string[] = [
  ...withoutArgument,
  ...withArgument,
  ...unjudgedSshCriteria,
];

/** Reads the text after `Match`. */
export function parseSshCriteria(rest: string): SshCriteria {
  const read = criteriaOf(delimitedWords(rest));
  if ("criteria" in read) return read;
  // OpenSSH 10 parses these words like those of any other line, with backslashes and single quotes.
  const newer = criteriaOf(argumentWords(rest));
  return "criteria" in newer ? newer : read;
}

function criteriaOf(words: readonly string[] | undefined): SshCriteria {
  if (!words) return { fault: "a quote is not closed" };
  const criteria: SshCriterion[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const isNegated = word.startsWith("!");
    const name = (isNegated ? word.slice(1) : word).toLowerCase();
    if (withoutArgument.includes(name)) {
      if (name === "all" && (criteria.length > 1 || at + 1 < words.length)) {
        return { fault: '"all" cannot be combined with other conditions' };
      }
      criteria.push({ name, isNegated, argument: "" });
      continue;
    }
    if (!sshCriterionNames.includes(name)) return { fault: `unknown condition "${word}"` };
    const argument = words[++at];
    if (argument === undefined || argument === "") return { fault: `"${name}" has no argument` };
    criteria.push({ name, isNegated, argument });
  }
  return criteria.length === 0 ? { fault: "the line has no condition" } : { criteria };
}
