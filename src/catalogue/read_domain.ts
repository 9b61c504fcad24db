import { asciiName, endsInNumber, parseIp } from "../words/mod.ts";

/** A pattern of a configuration, or why a text cannot be one. */
export type ReadDomain = { readonly pattern: string } | { readonly problem: string };

/** Scheme, user, host, port, path: of all that only the host counts. */
const aroundHost =
  /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)(?::[0-9]{0,5})?(?:[/?#].*)?$/is;

/** What registries hand out names below: to route one of these would take thousands of strangers with it. */
const registry = /^(?:ac|co|com|edu|gob|gov|go|ltd|mil|ne|net|nom|or|org|plc)\.[a-z]{2}$/;

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** What nearly every item of a large catalogue is: at least three labels, which no registry and no address is. */
const plainDomain =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){2,}(?!local(?:host|domain)$)[a-z]{2,63}$/;

/**
 * Reads the domain that a fact names: in any case, with a trailing dot, or as a URL. `*.x` and `.x` are what is below.
 * Addresses, single labels and whole registries are refused: a fact may route a cluster's names, not the world's.
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
    return { problem: "it is an address: write addresses into the routes of the configuration" };
  }
  if (name.length > 253 || !labels.every((part) => label.test(part))) {
    return { problem: name.includes("*") ? "it has a * that is not in front" : "it is not a domain" };
  }
  if (labels.length === 1) return { problem: "it has only one label, and would match far too much" };
  if (labels.at(-1) === "localhost" || labels.at(-1) === "localdomain") {
    return { problem: "it is this machine's own" };
  }
  if (registry.test(name)) return { problem: "everybody's domains are below it" };
  return { pattern: isBelow ? `.${name}` : name };
}
