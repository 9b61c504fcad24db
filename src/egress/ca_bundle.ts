import { isMapping } from "../config/mod.ts";
import { counted, pemBlock } from "../core/mod.ts";
import { inspectCertificate } from "./certificate.ts";
import { hasTextBehind, type PemBlock, pemBlocks } from "./pem_blocks.ts";

/** The ConfigMap key that holds the bundle. */
export const bundleKey = "ca-bundle.crt";

/** The maximum total size of a ConfigMap's values, in bytes. */
export const configMapLimit = 1024 * 1024;

/** Why a bundle is unusable, as a one-word code. */
export type CaReason =
  | "MapMissing"
  | "KeyMissing"
  | "Empty"
  | "Blank"
  | "NoCertificate"
  | "BrokenCertificate"
  | "TextBehind"
  | "TooLarge";

/** Why a bundle is unusable. The message continues a sentence that begins with the bundle's name. */
export interface CaProblem {
  readonly reason: CaReason;
  readonly message: string;
}

export interface CaCertificate {
  /** The DER bytes in base64; they identify the certificate. */
  readonly base64: string;
  readonly subject: string;
}

/** The certificates of a PEM text. */
export interface CaBundle {
  /** In the order of the text, without duplicates. */
  readonly certificates: readonly CaCertificate[];
  /** A single problem makes the bundle unusable. */
  readonly problems: readonly CaProblem[];
  readonly warnings: readonly string[];
}

/** Reads the bundle's text from a ConfigMap, or says why it cannot. */
export function bundleTextOf(
  configMap: unknown,
): { readonly text: string } | { readonly problem: CaProblem } {
  const data = isMapping(configMap) ? configMap["data"] : undefined;
  const text = isMapping(data) ? data[bundleKey] : undefined;
  if (typeof text === "string") return { text };
  return { problem: { reason: "KeyMissing", message: `has no key "${bundleKey}"` } };
}

export interface CaOptions {
  /** The time at which validity is checked. */
  readonly now: Date;
  /** Rejects text after the last block, like the installer. */
  readonly refusesTextBehind?: boolean;
}

/**
 * Reads the certificates that a user trusts. Drops a private key with a warning. A malformed certificate
 * block makes the whole bundle unusable.
 */
export async function readCaBundle(
  text: string,
  { now, refusesTextBehind = false }: CaOptions,
): Promise<CaBundle> {
  const fail = (reason: CaReason, message: string): CaBundle => ({
    certificates: [],
    problems: [{ reason, message }],
    warnings: [],
  });
  if (text === "") return fail("Empty", "is empty");
  if (text.length > configMapLimit) return fail("TooLarge", tooLarge(text.length));
  if (text.trim() === "") return fail("Blank", "contains only whitespace");
  const certificates = new Map<string, CaCertificate>();
  const problems: CaProblem[] = [];
  const warnings: string[] = [];
  for (const block of pemBlocks(text)) {
    const skipped = skippedBecause(block);
    if (skipped !== undefined) {
      warnings.push(`line ${block.line}: ${skipped}`);
      continue;
    }
    const certificate = block.base64 === undefined ? undefined : await inspectCertificate(block.base64);
    if (!certificate || block.base64 === undefined) {
      problems.push({
        reason: "BrokenCertificate",
        message: `has an unreadable certificate on line ${block.line}`,
      });
    } else if (!certificates.has(block.base64)) {
      certificates.set(block.base64, { base64: block.base64, subject: certificate.subject });
      for (const doubt of certificate.doubts(now)) {
        warnings.push(`line ${block.line}: ${certificate.subject} ${doubt}`);
      }
    }
  }
  if (refusesTextBehind && hasTextBehind(text)) {
    problems.push({
      reason: "TextBehind",
      message: "has text after its last block: the installer rejects it",
    });
  }
  if (certificates.size === 0 && problems.length === 0) {
    problems.push({ reason: "NoCertificate", message: "contains no certificate" });
  }
  return { certificates: [...certificates.values()], problems: told(problems), warnings: told(warnings) };
}

/** Reads the system's certificates; skips unreadable ones, as every client does. */
export async function readSystemBundle(texts: readonly string[]): Promise<readonly CaCertificate[]> {
  const certificates = new Map<string, CaCertificate>();
  for (const { kind, base64, hasHeaders } of texts.flatMap(pemBlocks)) {
    if (kind !== "CERTIFICATE" || hasHeaders || base64 === undefined || certificates.has(base64)) continue;
    const certificate = await inspectCertificate(base64);
    if (certificate) certificates.set(base64, { base64, subject: certificate.subject });
  }
  return [...certificates.values()];
}

/** Merges the user's certificates with the system's, user's first, without duplicates. */
export function mergedBundle(
  user: readonly CaCertificate[],
  system: readonly CaCertificate[],
): { readonly text: string; readonly count: number } | { readonly problem: CaProblem } {
  const all = [...new Set([...user, ...system].map(({ base64 }) => base64))];
  const text = all.map((base64) => pemBlock("CERTIFICATE", base64)).join("");
  if (text.length > configMapLimit) {
    return { problem: { reason: "TooLarge", message: tooLarge(text.length) } };
  }
  return { text, count: all.length };
}

function tooLarge(size: number): string {
  return `is ${size} bytes long: a ConfigMap holds at most ${configMapLimit}`;
}

/** Why a block is skipped without making the bundle unusable. */
function skippedBecause({ kind, hasHeaders, base64 }: PemBlock): string | undefined {
  if (kind.endsWith("PRIVATE KEY")) {
    return "skipped a private key: every user with access to the ConfigMap can read it; remove it and create a new key";
  }
  if (kind !== "CERTIFICATE") {
    return `skipped a block of type ${JSON.stringify(kind)}: it is not a certificate`;
  }
  if (hasHeaders && base64 === undefined) {
    return "skipped a certificate with PEM headers: clients ignore such blocks";
  }
  return undefined;
}

/** The maximum number of findings reported for one bundle. */
const mostTold = 20;

function told(warnings: readonly string[]): readonly string[];
function told(problems: readonly CaProblem[]): readonly CaProblem[];
function told(list: readonly (string | CaProblem)[]): readonly (string | CaProblem)[] {
  const rest = list.length - mostTold;
  if (rest <= 0) return list;
  const more = `and ${counted(rest, "similar finding")}`;
  const last = list[mostTold];
  return [...list.slice(0, mostTold), typeof last === "object" ? { ...last, message: more } : more];
}
