import { parseIp } from "../../words/mod.ts";
import { goTrimmed } from "./go_text.ts";
import { parseNetworkRange } from "./network_range.ts";
import type { SpecProblem, SpecReason, SpecReport } from "../proxy_spec.ts";

/** The maximum number of items reported for one list: one mistake often repeats thousands of times. */
const mostTold = 20;

/** Checks a no-proxy list and reports every invalid item and every misleading one. */
export function checkNoProxy(
  noProxy: string,
  { refusesSpaces = false }: { readonly refusesSpaces?: boolean } = {},
): SpecReport {
  const problems: SpecProblem[] = [];
  const warnings: SpecProblem[] = [];
  if (noProxy === "") return { problems, warnings };
  const path = ["spec", "noProxy"];
  const report = (list: SpecProblem[], reason: SpecReason, message: string): void => {
    if (list.length <= mostTold) list.push({ path, reason, message });
  };
  if (noProxy === "*") {
    report(warnings, "EverythingDirect", 'with "*", all requests bypass the proxy');
    return { problems, warnings };
  }
  // The installer has this rule; the operator does not.
  if (refusesSpaces && /\s/.test(noProxy)) {
    report(problems, "NoProxySpace", "must have no spaces: the installer rejects them");
  }
  const items = noProxy.split(",");
  items.forEach((raw, index) => {
    const item = goTrimmed(raw);
    const problem = itemProblem(item);
    const where = `item ${index + 1}`;
    if (problem !== undefined) report(problems, "NoProxyItem", `${where} ${problem}`);
    else {
      const warning = itemWarning(item);
      if (warning) report(warnings, warning.reason, `${where} ${warning.message}`);
    }
  });
  return { problems: told(problems, items.length), warnings: told(warnings, items.length) };
}

/** The accepted items of a list: without surrounding whitespace. */
export function noProxyItems(noProxy: string): string[] {
  return noProxy === "" ? [] : noProxy.split(",").map(goTrimmed);
}

function told(list: SpecProblem[], items: number): SpecProblem[] {
  const last = list[mostTold];
  if (!last) return list;
  return [...list.slice(0, mostTold), {
    ...last,
    message: `${items} items in total; more of them have problems like these`,
  }];
}

/**
 * RFC 1123 as Kubernetes reads it: lowercase letters, digits, inner `-`, and `.` as a separator; labels of
 * any length.
 */
const subdomain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** Why an item is invalid. The text follows "item 3". */
function itemProblem(item: string): string | undefined {
  const name = item.replace(/^\./, "").replace(/\.$/, "");
  if (name.length <= 253 && subdomain.test(name)) return undefined;
  if (parseIp(item) || parseNetworkRange(item)) return undefined;
  const shown = quoted(item);
  if (item === "") return "is empty: remove the comma";
  return `must be a name, an address or a network: ${shown} ${whatIsOdd(item, name)}`;
}

function whatIsOdd(item: string, name: string): string {
  if (item === "*") return 'may only stand alone, as the whole list ("*")';
  if (item.includes("://")) return "is a URL";
  if (/\s|;/.test(item)) return "contains whitespace or a semicolon: only commas separate items";
  if (item.startsWith("*.")) return `has a wildcard: write ${quoted(item.slice(1))}`;
  if (item.includes("*")) return "has a wildcard";
  if (/^\[.*\]/.test(item)) return "has brackets: write the address without them";
  if (item.includes("/")) return "is not a network";
  if (item.includes("%")) return "has a zone or an escape";
  if (/^[^:]*:[0-9]*$/.test(item)) return "has a port: write the name alone";
  if (/[^\0-\x7f]/.test(item)) return "has non-ASCII letters: write it in punycode (xn--…)";
  if (name.length > 253) return `has ${name.length} characters: the limit is 253`;
  if (/[A-Z]/.test(item)) return "has uppercase letters: write it in lower case";
  if (item.includes("_")) return "has an underscore";
  return "is none of these";
}

/** Returns a warning for a valid item that matches nothing or that clients read differently. */
function itemWarning(item: string): { readonly reason: SpecReason; readonly message: string } | undefined {
  const shown = quoted(item);
  if (parseIp(item)) return undefined;
  const network = parseNetworkRange(item);
  if (network) {
    if (network.bits > 0) return undefined;
    return {
      reason: "ClientsDisagree",
      message: `${shown} matches every address in Go, but no address in curl`,
    };
  }
  const name = item.replace(/^\./, "").replace(/\.$/, "");
  const isNumeric = /^[0-9]+$/.test(name.split(".").at(-1) ?? "") || /^[0-9.-]+$/.test(name);
  if (isNumeric) {
    return {
      reason: "MatchesNothing",
      message: `${shown} matches nothing: it is not a valid address, network or name`,
    };
  }
  if (!item.endsWith(".")) return undefined;
  const plain = JSON.stringify(item.slice(0, -1).slice(0, 100));
  return {
    reason: "ClientsDisagree",
    message: `${shown} matches only names with a trailing dot in most clients: add ${plain}`,
  };
}

/** Masks everything before an `@`: it may be a password. */
function quoted(item: string): string {
  const shown = item.replace(/^.*@/s, "…@");
  return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}…` : shown);
}
