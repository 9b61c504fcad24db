import { asciiName, endsInNumber, parseIp } from "../words/mod.ts";

/** A pattern for the configuration, or the problem of the text. */
export type ReadDomain = { readonly pattern: string } | { readonly problem: string };

/** Finds the host in a URL or in a part of one, such as `host:port`. */
const aroundHost =
  /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)(?::[0-9]{0,5})?(?:[/?#].*)?$/is;

/**
 * Public suffixes below which registries sell names; routing one would also route thousands of unrelated
 * domains.
 */
const registry = /^(?:ac|co|com|edu|gob|gov|go|ltd|mil|ne|net|nom|or|org|plc)\.[a-z]{2}$/;

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * The usual form of an item: at least three labels, so that it is neither a registry suffix nor an address.
 */
const plainDomain =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){2,}(?!local(?:host|domain)$)[a-z]{2,63}$/;

/**
 * Reads a domain from a fact: in any case, with a trailing dot, or as a URL. `*.x` and `.x` mean the names
 * below x. Rejects addresses, single labels and registry suffixes, so that a fact cannot route the whole
 * Internet.
 */
export function readDomain(written: string): ReadDomain {
  if (plainDomain.test(written)) return { pattern: written };
  const text = written.trim();
  if (text.length > 1000) return { problem: `it has ${text.length} characters` };
  const host = aroundHost.exec(text)?.[1];
  if (host === undefined || host === "") return { problem: "it is not a domain" };
  const isBelow = /^\*?\./.test(host);
  const name = asciiName(host.replace(/^\*?\./, "").replace(/\.$/, ""))?.toLowerCase();
  if (name === undefined) return { problem: "it is not a domain" };
  const labels = name.split(".");
  if (endsInNumber(name) || parseIp(name.replace(/^\[|\]$/g, ""))) {
    return { problem: "it is an IP address; add it to the routes of the configuration" };
  }
  if (name.length > 253 || !labels.every((part) => label.test(part))) {
    return { problem: name.includes("*") ? "it has a * that is not at the beginning" : "it is not a domain" };
  }
  if (labels.length === 1) return { problem: "it has only one label and would match too much" };
  if (labels.at(-1) === "localhost" || labels.at(-1) === "localdomain") {
    return { problem: "it is a name of this machine" };
  }
  if (registry.test(name)) return { problem: "it is a public suffix" };
  return { pattern: isBelow ? `.${name}` : name };
}
