import { readDomain } from "../catalogue/mod.ts";
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

/**
 * Whether a domain is too broad to belong to one owner. A domain with one label is too broad unless the user wrote
 * it and it is not public.
 */
export function isTooBroad(domain: string, { isWritten = false } = {}): boolean {
  if (domain !== "" && !domain.includes(".")) return !isWritten || isTopLevelDomain(domain);
  if ("problem" in readDomain(domain)) return true;
  return shared.some((name) => domain === name || domain.endsWith(`.${name}`));
}
