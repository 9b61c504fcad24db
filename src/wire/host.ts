import { canonicalHost, PosternError } from "../words/mod.ts";
import { plainText } from "../core/mod.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads a host from bytes, like `hostOf`; as UTF-8, for clients that leave punycode to the proxy. */
export function decodeHost(bytes: Uint8Array<ArrayBuffer>): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new PosternError("protocol", "Cannot read the host name: it is not UTF-8", { cause });
  }
  return hostOf(text);
}

/**
 * Normalizes a host like `canonicalHost`. Clients also send addresses as names, IPv6 in brackets too. Rejects
 * invalid hosts, so that rules and logs never see them.
 */
export function hostOf(sent: string): string {
  const isBracketed = sent.startsWith("[") && sent.endsWith("]") && sent.includes(":");
  const host = canonicalHost(isBracketed ? sent.slice(1, -1) : sent);
  if (typeof host === "string") return host;
  throw new PosternError(
    "protocol",
    `Cannot use ${JSON.stringify(plainText(sent))} as a host: ${host.problem}`,
    {
      ...(/^\[|:/.test(sent) && { detail: "address_type" }),
      hint: host.hint,
    },
  );
}
