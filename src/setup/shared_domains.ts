import { isTopLevelDomain } from "../kube/mod.ts";

/** Domains of providers, in which different owners have hosts. */
const shared = [
  "amazonaws.com",
  "cloudapp.azure.com",
  "googleusercontent.com",
  "ts.net",
  "nip.io",
  "sslip.io",
];

/** Second-level labels below which countries register names: `co.uk`, `com.au`. */
const registries = new Set(["co", "com", "net", "org", "gov", "edu", "ac", "or", "ne", "gob", "gouv"]);

/**
 * Whether a domain is too broad to belong to one owner. A domain with one label is too broad unless the user wrote
 * it and it is not public.
 */
export function isTooBroad(domain: string, { isWritten = false } = {}): boolean {
  const labels = domain.split(".");
  const [last = "", second = ""] = [...labels].reverse();
  if (domain === "" || labels.includes("")) return true;
  if (labels.length === 1) return !isWritten || isTopLevelDomain(domain);
  if (labels.length === 2 && last.length === 2 && registries.has(second)) return true;
  return shared.some((name) => domain === name || domain.endsWith(`.${name}`));
}
