import { type Bytes, sha256 } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import {
  type CertificateFacts,
  type CertificateFields,
  decodePem,
  encodeCertificate,
  encodePem,
  encodeUnsignedCertificate,
  publicKeyBits,
  readCertificate,
} from "./x509.ts";

export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/** A CA with its key. */
export interface Authority {
  readonly pem: string;
  readonly keyPem: string;
  readonly notAfter: Date;
  /** Its subject name in DER. */
  readonly subject: Bytes;
  readonly keyId: Bytes;
  readonly signer: CryptoKey;
}

/** A key in two forms: for signing and export, and for a certificate. */
export interface KeyOfCertificate {
  readonly publicKey: Bytes;
  readonly signer: CryptoKey;
}

export interface Issued extends CertificateFacts {
  readonly key: KeyOfCertificate;
}

const curve = { name: "ECDSA", namedCurve: "P-256" };
const signing = { name: "ECDSA", hash: "SHA-256" };
/** How much earlier than `span.from` a certificate becomes valid, in ms: clocks differ. */
const early = 5 * 60 * 1000;

export async function makeAuthority(commonName: string, span: Span): Promise<Authority> {
  const { key, keyPem } = await makeKey();
  const keyId = await idOf(key.publicKey);
  const fields = { commonName, span, use: "authority", names: [], publicKey: key.publicKey } as const;
  const cert = await signed(fields, { signer: key.signer, keyId, issuerKeyId: keyId });
  const { subject } = readCertificate(cert);
  const pem = encodePem("CERTIFICATE", cert);
  return { pem, keyPem, notAfter: span.to, subject, keyId, signer: key.signer };
}

/** Issues a certificate signed by a CA, for the given key or for a new one, which is also returned. */
export async function issueCertificate(
  authority: Authority,
  { commonName, use, names, span, key: given }: {
    readonly commonName: string;
    readonly use: "server" | "client";
    readonly names: readonly string[];
    readonly span: Span;
    readonly key?: KeyOfCertificate;
  },
): Promise<{ cert: string; keyPem: string | undefined }> {
  const { key, keyPem } = given ? { key: given, keyPem: undefined } : await makeKey();
  const { publicKey } = key;
  const cert = await signed({ commonName, span, use, names, publicKey, issuer: authority.subject }, {
    signer: authority.signer,
    keyId: await idOf(publicKey),
    issuerKeyId: authority.keyId,
  });
  return { cert: encodePem("CERTIFICATE", cert), keyPem };
}

/** Reads a CA from its files; `path` is for messages. */
export async function readAuthority(
  { cert, key }: { readonly cert: string; readonly key: string },
  path: string,
): Promise<Authority> {
  const { key: read, subject, notAfter, keyId } = await readIssued({ cert, key }, path);
  return {
    pem: cert,
    keyPem: key,
    notAfter,
    subject,
    keyId: keyId ?? await idOf(read.publicKey),
    signer: read.signer,
  };
}

/** Reads a certificate and its key that postern wrote; other kinds of keys are not supported. */
export async function readIssued(
  { cert, key }: { readonly cert: string; readonly key: string },
  path: string,
): Promise<Issued> {
  try {
    const facts = readCertificate(decodePem("CERTIFICATE", cert));
    const bytes = decodePem("PRIVATE KEY", key);
    const signer = await crypto.subtle.importKey("pkcs8", bytes, curve, true, ["sign"]);
    // WebCrypto derives a public key only through this format.
    const { d: _secret, key_ops: _uses, ...half } = await crypto.subtle.exportKey("jwk", signer);
    const open = await crypto.subtle.importKey("jwk", half, curve, true, ["verify"]);
    return { ...facts, key: { signer, publicKey: await spki(open) } };
  } catch (cause) {
    throw new PosternError(
      "config",
      `Cannot renew "${path}": this command did not create the certificate or its key`,
      {
        cause,
        hint: "create new certificates in another directory",
      },
    );
  }
}

async function makeKey(): Promise<{ key: KeyOfCertificate; keyPem: string }> {
  const pair = await crypto.subtle.generateKey(curve, true, ["sign", "verify"]);
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const key = { signer: pair.privateKey, publicKey: await spki(pair.publicKey) };
  return { key, keyPem: encodePem("PRIVATE KEY", bytes) };
}

async function spki(key: CryptoKey): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.exportKey("spki", key));
}

/** The first 160 bits of the key's hash (RFC 7093, section 2). */
async function idOf(publicKey: Bytes): Promise<Bytes> {
  return (await sha256(publicKeyBits(publicKey))).slice(0, 20);
}

async function signed(
  { span, ...fields }:
    & Omit<CertificateFields, "serial" | "notBefore" | "notAfter" | "keyId" | "issuerKeyId">
    & {
      readonly span: Span;
    },
  { signer, ...ids }: { readonly signer: CryptoKey; readonly keyId: Bytes; readonly issuerKeyId: Bytes },
): Promise<Bytes> {
  const serial = crypto.getRandomValues(new Uint8Array(16));
  // Positive and of constant length.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const notBefore = new Date(span.from.getTime() - early);
  const unsigned = encodeUnsignedCertificate({
    ...fields,
    ...ids,
    serial,
    notBefore,
    notAfter: span.to,
  });
  const signature = new Uint8Array(await crypto.subtle.sign(signing, signer, unsigned));
  return encodeCertificate(unsigned, signature);
}
