import { parseIp } from "../../words/mod.ts";
import { goTrimmed } from "./go_text.ts";
import { parseNetworkRange } from "./network_range.ts";
import type { SpecProblem, SpecReason, SpecReport } from "../proxy_spec.ts";

/** How many items of one list are told of: one mistake often makes thousands of them. */
const mostTold = 20;

/** Checks a list of what goes past the proxy (table N): every bad item, and those that do not do what they seem to. */
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
    report(warnings, "EverythingDirect", '"*" sends everything past the proxy');
    return { problems, warnings };
  }
  // The installer's own rule, which the operator does not have.
  if (refusesSpaces && /\s/.test(noProxy)) {
    report(problems, "NoProxySpace", "must have no spaces: the installer refuses them");
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

/** The items of a list as they are accepted: without the blanks around them. */
export function noProxyItems(noProxy: string): string[] {
  return noProxy === "" ? [] : noProxy.split(",").map(goTrimmed);
}

function told(list: SpecProblem[], items: number): SpecProblem[] {
  const last = list[mostTold];
  if (!last) return list;
  return [...list.slice(0, mostTold), { ...last, message: `more of its ${items} items are like these` }];
}

/** RFC 1123 as Kubernetes reads it: lower case, digits, `-` inside and `.` between; labels of any length. */
const subdomain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** What is wrong with an item, to be read after "item 3". */
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
  if (/\s|;/.test(item)) return "has a blank or a semicolon inside: only commas separate items";
  if (item.startsWith("*.")) return `has a wildcard: write ${quoted(item.slice(1))}`;
  if (item.includes("*")) return "has a wildcard";
  if (/^\[.*\]/.test(item)) return "has brackets: write the address without them";
  if (item.includes("/")) return "is no network";
  if (item.includes("%")) return "has a zone or an escape";
  if (/^[^:]*:[0-9]*$/.test(item)) return "has a port: write the name alone";
  if (/[^\0-\x7f]/.test(item)) return "has letters beyond ASCII: write it as punycode (xn--…)";
  if (name.length > 253) return `has ${name.length} characters: 253 are allowed`;
  if (/[A-Z]/.test(item)) return "has capitals: write it in lower case";
  if (item.includes("_")) return "has an underscore";
  return "is none of these";
}

/** What an accepted item does not do, although it looks like it. */
function itemWarning(item: string): { readonly reason: SpecReason; readonly message: string } | undefined {
  const shown = quoted(item);
  if (parseIp(item)) return undefined;
  const network = parseNetworkRange(item);
  if (network) {
    if (network.bits > 0) return undefined;
    return { reason: "ClientsDisagree", message: `${shown} is every address for Go, and none for curl` };
  }
  const name = item.replace(/^\./, "").replace(/\.$/, "");
  const isNumeric = /^[0-9]+$/.test(name.split(".").at(-1) ?? "") || /^[0-9.-]+$/.test(name);
  if (isNumeric) {
    return {
      reason: "MatchesNothing",
      message: `${shown} matches nothing: it is no address, network or name`,
    };
  }
  if (!item.endsWith(".")) return undefined;
  const plain = JSON.stringify(item.slice(0, -1).slice(0, 100));
  return {
    reason: "ClientsDisagree",
    message: `${shown} matches only names written with a dot at their end in most clients: add ${plain}`,
  };
}

/** What stands before an `@` may be a password, whatever form it has. */
function quoted(item: string): string {
  const shown = item.replace(/^.*@/s, "…@");
  return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}…` : shown);
}
