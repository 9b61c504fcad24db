import { isMapping } from "../config/mod.ts";
import { counted } from "../core/mod.ts";
import { readCertificate } from "./certificate.ts";
import { hasTextBehind, type PemBlock, pemBlocks } from "./pem_blocks.ts";

/** The key of a ConfigMap that has a bundle. */
export const bundleKey = "ca-bundle.crt";

/** The most bytes that the values of a ConfigMap may have together. */
export const configMapLimit = 1024 * 1024;

/** Why a bundle cannot be used, in one word. */
export type CaReason =
  | "MapMissing"
  | "KeyMissing"
  | "Empty"
  | "Blank"
  | "NoCertificate"
  | "BrokenCertificate"
  | "TextBehind"
  | "TooLarge";

/** What is wrong with a bundle, to be read after its name. */
export interface CaProblem {
  readonly reason: CaReason;
  readonly message: string;
}

/** A certificate of a bundle. */
export interface CaCertificate {
  /** Its bytes in base64: what tells it from others. */
  readonly base64: string;
  readonly subject: string;
}

/** What a text of certificates holds. */
export interface CaBundle {
  /** In order, each once. */
  readonly certificates: readonly CaCertificate[];
  /** Any of them makes the bundle unusable. */
  readonly problems: readonly CaProblem[];
  readonly warnings: readonly string[];
}

/** The text of a bundle in a ConfigMap, or why there is none. */
export function bundleTextOf(
  configMap: unknown,
): { readonly text: string } | { readonly problem: CaProblem } {
  const data = isMapping(configMap) ? configMap["data"] : undefined;
  const text = isMapping(data) ? data[bundleKey] : undefined;
  if (typeof text === "string") return { text };
  return { problem: { reason: "KeyMissing", message: `has no key "${bundleKey}"` } };
}

export interface CaOptions {
  /** By which a certificate has expired or not. */
  readonly now: Date;
  /** Takes no text behind the last block, as the installer does not. */
  readonly refusesTextBehind?: boolean;
}

/**
 * Reads certificates that a user trusts. Only certificates are taken: a private key is dropped with a
 * warning, a block that should be a certificate and is none makes the whole unusable.
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
  if (text.trim() === "") return fail("Blank", "has nothing but blanks");
  const certificates = new Map<string, CaCertificate>();
  const problems: CaProblem[] = [];
  const warnings: string[] = [];
  for (const block of pemBlocks(text)) {
    const skipped = skippedBecause(block);
    if (skipped !== undefined) {
      warnings.push(`line ${block.line}: ${skipped}`);
      continue;
    }
    const certificate = block.base64 === undefined ? undefined : await readCertificate(block.base64);
    if (!certificate || block.base64 === undefined) {
      problems.push({
        reason: "BrokenCertificate",
        message: `has a certificate on line ${block.line} that cannot be read`,
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
      message: "has text behind its last block: the installer refuses it",
    });
  }
  if (certificates.size === 0 && problems.length === 0) {
    problems.push({ reason: "NoCertificate", message: "has no certificate" });
  }
  return { certificates: [...certificates.values()], problems: told(problems), warnings: told(warnings) };
}

/** Reads the system's certificates: what cannot be read there is left out, as every client does. */
export async function readSystemBundle(texts: readonly string[]): Promise<readonly CaCertificate[]> {
  const certificates = new Map<string, CaCertificate>();
  for (const { kind, base64, hasHeaders } of texts.flatMap(pemBlocks)) {
    if (kind !== "CERTIFICATE" || hasHeaders || base64 === undefined || certificates.has(base64)) continue;
    const certificate = await readCertificate(base64);
    if (certificate) certificates.set(base64, { base64, subject: certificate.subject });
  }
  return [...certificates.values()];
}

/** The bundle that everybody gets: the user's certificates, then the system's, each once. */
export function mergedBundle(
  user: readonly CaCertificate[],
  system: readonly CaCertificate[],
): { readonly text: string; readonly count: number } | { readonly problem: CaProblem } {
  const all = [...new Set([...user, ...system].map(({ base64 }) => base64))];
  const text = all.map(pemOf).join("");
  if (text.length > configMapLimit) {
    return { problem: { reason: "TooLarge", message: tooLarge(text.length) } };
  }
  return { text, count: all.length };
}

/** A certificate in lines of 64 characters (RFC 7468, section 2). */
function pemOf(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function tooLarge(size: number): string {
  return `has ${size} bytes with all its certificates: a ConfigMap takes ${configMapLimit}`;
}

/** Why a block is not taken although it breaks nothing. */
function skippedBecause({ kind, hasHeaders, base64 }: PemBlock): string | undefined {
  if (kind.endsWith("PRIVATE KEY")) {
    return "a private key is left out: whoever may read the ConfigMap has it, so remove it and make a new one";
  }
  if (kind !== "CERTIFICATE") {
    return `a block of kind ${JSON.stringify(kind)} is left out: it is no certificate`;
  }
  if (hasHeaders && base64 === undefined) {
    return "a certificate with fields before its bytes is left out: clients pass over such blocks";
  }
  return undefined;
}

/** How many findings of one bundle are told. */
const mostTold = 20;

function told(warnings: readonly string[]): readonly string[];
function told(problems: readonly CaProblem[]): readonly CaProblem[];
function told(list: readonly (string | CaProblem)[]): readonly (string | CaProblem)[] {
  const rest = list.length - mostTold;
  if (rest <= 0) return list;
  const more = `and ${counted(rest, "more finding")} like these`;
  const last = list[mostTold];
  return [...list.slice(0, mostTold), typeof last === "object" ? { ...last, message: more } : more];
}
