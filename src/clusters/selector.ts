import { PosternError } from "../words/mod.ts";

/** Whether an object with these labels matches; `label` returns undefined for a missing one. */
export type Selector = (label: (name: string) => string | undefined) => boolean;

/** A comma outside of parentheses ends a requirement. */
const requirementForm = /(?:[^,(]|\([^)]*(?:\)|$))+/g;
const name = "([A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?)";
const setForm = new RegExp(`^${name}\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const comparisonForm = new RegExp(`^${name}\\s*(==|=|!=|>|<)\\s*(.*)$`);
const existenceForm = new RegExp(`^(!?)\\s*${name}$`);
/** The characters of Kubernetes labels and of facts. */
const valueForm = /^[^\s,=!<>()]*$/;

/**
 * Parses a selector like `kubectl --selector`: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, `a>1`,
 * joined by commas. As in kubectl, `!=` and `notin` also match objects without the label.
 */
export function parseSelector(text: string): Selector {
  if (text.trim() === "") return () => true;
  const requirements = text.match(requirementForm)?.map((part) => requirement(part.trim(), text)) ?? [];
  const commas = text.replace(/\([^)]*\)/g, "").split(",").length - 1;
  if (requirements.length !== commas + 1) throw unreadable(text, "it has an extra comma");
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
  if (wanted === undefined) throw unreadable(text, `"${part.slice(0, 60)}" is not a requirement`);
  return (label) => (label(wanted) !== undefined) === (not === "");
}

function compared(key: string, comparison: string, value: string, text: string): Selector {
  if (comparison === "!=") return (label) => label(key) !== value;
  if (comparison === "=" || comparison === "==") return (label) => label(key) === value;
  const bound = wholeNumber(value);
  if (bound === undefined) throw unreadable(text, `"${comparison}" needs a whole number`);
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
  throw unreadable(text, `"${value.slice(0, 60)}" is not a valid value`);
}

function unreadable(text: string, why: string): PosternError {
  return new PosternError("usage", `Cannot read the selector "${text.slice(0, 200)}": ${why}`, {
    hint: "use a form like: cloud=exoscale,region in (rma1, lpg1),!decommissioned",
  });
}
