import { type Bytes, decodeBase64, encodeBase64, pemBlock } from "../../core/mod.ts";
import { formatIp, parseIp, PosternError } from "../../words/mod.ts";
import { der, type DerValue, readDer } from "./der.ts";

/** The use of a certificate: to sign others, or for one side of TLS. */
export type CertificateUse = "authority" | "server" | "client";

/** The fields of a certificate, except its signature. */
export interface CertificateFields {
  /** The serial number, positive. */
  readonly serial: Bytes;
  readonly commonName: string;
  /** The issuer's name in DER, as returned by `readCertificate`; absent when self-signed. */
  readonly issuer?: Bytes;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly use: CertificateUse;
  /** Names and IP addresses. */
  readonly names: readonly string[];
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Bytes;
  /** The identifiers of this key and of its issuer's key. */
  readonly keyId: Bytes;
  readonly issuerKeyId: Bytes;
}

export interface CertificateFacts {
  /** Its subject in DER. */
  readonly subject: Bytes;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly names: readonly string[];
  /** Undefined when the certificate has none. */
  readonly keyId: Bytes | undefined;
}

/** Encodes the signed part of a certificate (`TBSCertificate`: RFC 5280, section 4.1). */
export function encodeUnsignedCertificate(fields: CertificateFields): Bytes {
  const { serial, commonName, notBefore, notAfter, publicKey } = fields;
  const subject = nameOf(commonName);
  return der.sequence(
    der.context(0, der.integer(Uint8Array.of(2)), { isConstructed: true }),
    der.integer(serial),
    ecdsaWithSha256,
    fields.issuer ?? subject,
    der.sequence(der.time(notBefore), der.time(notAfter)),
    subject,
    publicKey,
    der.context(3, der.sequence(...extensionsOf(fields)), { isConstructed: true }),
  );
}

/** Encodes a certificate from its signed part and a WebCrypto signature, which holds two numbers. */
export function encodeCertificate(unsigned: Bytes, signature: Bytes): Bytes {
  const half = signature.length / 2;
  const numbers = der.sequence(der.integer(signature.slice(0, half)), der.integer(signature.slice(half)));
  return der.sequence(unsigned, ecdsaWithSha256, der.bitString(numbers));
}

/** Reads a certificate; throws `protocol` when it is malformed. */
export function readCertificate(bytes: Bytes): CertificateFacts {
  const [certificate] = readDer(bytes);
  const [unsigned] = readDer(certificate?.content ?? bytes);
  const fields = readDer(unsigned?.content ?? bytes);
  // Version 1 certificates have no version field.
  const [, , , validity, subject] = fields[0]?.tag === 0xa0 ? fields.slice(1) : fields;
  const [from, until] = readDer(validity?.content ?? nothing).map(dateOf);
  if (!subject || !from || !until) {
    throw new PosternError("protocol", "Cannot read the certificate: it lacks required fields");
  }
  const list = fields.find(({ tag }) => tag === 0xa3);
  const extensions = readDer(readDer(list?.content ?? nothing)[0]?.content ?? nothing);
  return {
    subject: subject.whole,
    notBefore: from,
    notAfter: until,
    names: readDer(extensionIn(extensions, objectIds.subjectAltName)?.[0]?.content ?? nothing).flatMap(
      nameIn,
    ),
    keyId: extensionIn(extensions, objectIds.subjectKeyId)?.[0]?.content,
  };
}

/** Extracts the bits of a public key from its SubjectPublicKeyInfo, the input of key ids. */
export function publicKeyBits(publicKey: Bytes): Bytes {
  const [, bits] = readDer(readDer(publicKey)[0]?.content ?? nothing);
  return (bits?.content ?? nothing).slice(1);
}

/** Encodes PEM (RFC 7468). */
export function encodePem(label: string, bytes: Bytes): string {
  return pemBlock(label, encodeBase64(bytes));
}

/** Returns the content of the first block with a label; throws `config` when there is none. */
export function decodePem(label: string, text: string): Bytes {
  const block = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----`).exec(text)
    ?.[1];
  if (block === undefined) throw new PosternError("config", `Cannot read the PEM: it has no ${label}`);
  const base64 = block.replace(/\s/g, "");
  const isWhole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64);
  const bytes = isWhole ? decodeBase64(base64) : undefined;
  if (!bytes) {
    throw new PosternError("config", `Cannot read the PEM: its ${label} is not base64`);
  }
  return bytes;
}

const objectIds = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
};
const ecdsaWithSha256 = der.sequence(der.objectId(objectIds.ecdsaWithSha256));
const nothing = new Uint8Array(0);

/** RFC 5280, section 4.2. */
function extensionsOf({ use, names, keyId, issuerKeyId }: CertificateFields): Bytes[] {
  const isAuthority = use === "authority";
  // keyCertSign and cRLSign, or only digitalSignature.
  const usage = isAuthority ? der.bitString(Uint8Array.of(0x06), 1) : der.bitString(Uint8Array.of(0x80), 7);
  const constraints = isAuthority ? der.sequence(der.boolean(true)) : der.sequence();
  const purpose = use === "server" ? objectIds.serverAuth : objectIds.clientAuth;
  return [
    extension(objectIds.basicConstraints, constraints, { isCritical: true }),
    extension(objectIds.keyUsage, usage, { isCritical: true }),
    ...isAuthority ? [] : [extension(objectIds.extendedKeyUsage, der.sequence(der.objectId(purpose)))],
    extension(objectIds.subjectKeyId, der.octetString(keyId)),
    extension(objectIds.authorityKeyId, der.sequence(der.context(0, issuerKeyId))),
    ...names.length === 0 ? [] : [extension(objectIds.subjectAltName, der.sequence(...names.map(altName)))],
  ];
}

function extension(id: string, value: Bytes, { isCritical = false } = {}): Bytes {
  const critical = isCritical ? [der.boolean(true)] : [];
  return der.sequence(der.objectId(id), ...critical, der.octetString(value));
}

function nameOf(commonName: string): Bytes {
  return der.sequence(
    der.set(der.sequence(der.objectId(objectIds.commonName), der.utf8(commonName))),
  );
}

function altName(name: string): Bytes {
  const ip = parseIp(name);
  return ip ? der.context(7, Uint8Array.from(ip)) : der.context(2, new TextEncoder().encode(name));
}

function nameIn({ tag, content }: DerValue): string[] {
  if (tag === 0x82) return [new TextDecoder().decode(content)];
  const isAddress = tag === 0x87 && (content.length === 4 || content.length === 16);
  return isAddress ? [formatIp(content)] : [];
}

function extensionIn(extensions: readonly DerValue[], id: string): DerValue[] | undefined {
  const wanted = der.objectId(id).join();
  for (const { content } of extensions) {
    const parts = readDer(content);
    if (parts[0]?.whole.join() === wanted) return readDer(parts.at(-1)?.content ?? nothing);
  }
  return undefined;
}

function dateOf({ content }: DerValue): Date | undefined {
  const text = new TextDecoder().decode(content);
  const [, year = "", month, day, hour, minute, second] =
    /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text) ?? [];
  const century = year.length === 4 ? "" : Number(year) < 50 ? "20" : "19";
  const date = new Date(`${century}${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
