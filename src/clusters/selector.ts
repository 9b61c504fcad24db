import { PosternError } from "../words/mod.ts";

/** Whether something with these labels is meant; `label` gives undefined for one that is not there. */
export type Selector = (label: (name: string) => string | undefined) => boolean;

/** A requirement's end is a comma outside of brackets. */
const requirementForm = /(?:[^,(]|\([^)]*(?:\)|$))+/g;
const name = "([A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?)";
const setForm = new RegExp(`^${name}\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const comparisonForm = new RegExp(`^${name}\\s*(==|=|!=|>|<)\\s*(.*)$`);
const existenceForm = new RegExp(`^(!?)\\s*${name}$`);
/** What a label of Kubernetes may hold, and what facts hold besides. */
const valueForm = /^[^\s,=!<>()]*$/;

/**
 * Reads a selector as `kubectl --selector` has it: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, `a>1`, all
 * joined by commas. As there, `!=` and `notin` also choose what has no such label.
 */
export function parseSelector(text: string): Selector {
  if (text.trim() === "") return () => true;
  const requirements = text.match(requirementForm)?.map((part) => requirement(part.trim(), text)) ?? [];
  const commas = text.replace(/\([^)]*\)/g, "").split(",").length - 1;
  if (requirements.length !== commas + 1) throw unreadable(text, "a comma too many");
  return (label) => requirements.every((meets) => meets(label));
}

function requirement(part: string, text: string): Selector {
  const [, setKey, operator, list = ""] = setForm.exec(part) ?? [];
  if (setKey !== undefined) {
    const values = list.split(",").map((value) => checkedValue(value.trim(), text));
    return (label) => {
      const value = label(setKey);
      const isIn = value !== undefined && values.includes(value);
      return operator === "in" ? isIn : !isIn;
    };
  }
  const [, key, comparison = "", written = ""] = comparisonForm.exec(part) ?? [];
  if (key !== undefined) return compared(key, comparison, checkedValue(written, text), text);
  const [, not, wanted] = existenceForm.exec(part) ?? [];
  if (wanted === undefined) throw unreadable(text, `"${part.slice(0, 60)}" is no requirement`);
  return (label) => (label(wanted) !== undefined) === (not === "");
}

function compared(key: string, comparison: string, value: string, text: string): Selector {
  if (comparison === "!=") return (label) => label(key) !== value;
  if (comparison === "=" || comparison === "==") return (label) => label(key) === value;
  const bound = wholeNumber(value);
  if (bound === undefined) throw unreadable(text, `"${comparison}" compares whole numbers`);
  return (label) => {
    const number = wholeNumber(label(key) ?? "");
    return number !== undefined && (comparison === ">" ? number > bound : number < bound);
  };
}

function wholeNumber(text: string): bigint | undefined {
  return /^-?[0-9]{1,40}$/.test(text) ? BigInt(text) : undefined;
}

function checkedValue(value: string, text: string): string {
  if (valueForm.test(value)) return value;
  throw unreadable(text, `"${value.slice(0, 60)}" is no value`);
}

function unreadable(text: string, why: string): PosternError {
  return new PosternError("usage", `Cannot read the selector "${text.slice(0, 200)}": ${why}`, {
    hint: "write for example: cloud=exoscale,region in (rma1, lpg1),!decommissioned",
  });
}
