import { hexText, sha256 } from "../core/mod.ts";

/** The parts of a request that AWS Signature Version 4 signs. */
export interface SignableRequest {
  readonly method: string;
  /** The path as sent, with each part encoded by `encodeAws`. */
  readonly path: string;
  readonly query?: Iterable<readonly [name: string, value: string]>;
  /** The signed fields; must include `Host`. */
  readonly fields: Iterable<readonly [name: string, value: string]>;
  /** SHA-256 of the body, in hex. */
  readonly bodyHash: string;
}

export interface SigningKey {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  /** `s3` in postern. */
  readonly service: string;
  /** `20130524T000000Z`, as `amzDate` formats it. */
  readonly date: string;
}

/** SHA-256 of an empty body, in hex. */
export const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** The field `Authorization` of a request (AWS Signature Version 4, "Authorization header"). */
export async function awsAuthorization(request: SignableRequest, key: SigningKey): Promise<string> {
  const { date, region, service, accessKey } = key;
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const { text, signed } = canonical(request);
  const toSign = ["AWS4-HMAC-SHA256", date, scope, await sha256Hex(text)].join("\n");
  const signature = hexText(await hmac(await signingKey(key), toSign));
  return `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
}

/** A time in AWS format. */
export function amzDate(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d{3}/g, "");
}

/**
 * Encodes a path segment, or a name or value of a query; only letters, digits and `-._~` stay as they are.
 */
export function encodeAws(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export async function sha256Hex(text: string): Promise<string> {
  return hexText(await sha256(text));
}

/** The canonical request, and the names of its signed fields. */
function canonical(
  { method, path, query = [], fields, bodyHash }: SignableRequest,
): { readonly text: string; readonly signed: string } {
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    values.set(key, [...values.get(key) ?? [], value.trim().replace(/ +/g, " ")]);
  }
  const names = [...values.keys()].sort();
  const signed = names.join(";");
  const parameters = [...query]
    .map(([name, value]) => [encodeAws(name), encodeAws(value)] as const)
    .sort(([a, x], [b, y]) => order(a, b) || order(x, y))
    .map((pair) => pair.join("="));
  const lines = names.map((name) => `${name}:${values.get(name)?.join(",")}\n`).join("");
  return { text: [method, path, parameters.join("&"), lines, signed, bodyHash].join("\n"), signed };
}

async function signingKey(
  { secretKey, date, region, service }: SigningKey,
): Promise<Uint8Array<ArrayBuffer>> {
  let key: Uint8Array<ArrayBuffer> = new TextEncoder().encode(`AWS4${secretKey}`);
  for (const part of [date.slice(0, 8), region, service, "aws4_request"]) key = await hmac(key, part);
  return key;
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text)));
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
