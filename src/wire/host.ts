import { asciiName, formatIp, parseIp, PosternError } from "../core/mod.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The host in a name's bytes, as `hostOf` reads it; UTF-8 for the clients that leave punycode to the proxy. */
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
 * A name as it was sent, an international one as punycode (no resolver and no other proxy knows it otherwise), or an IP
 * literal in its canonical form: clients send both in the place of a name, IPv6 in brackets too. What is neither is
 * refused here, so that rules and logs never see it.
 */
export function hostOf(sent: string): string {
  if (sent === "") throw new PosternError("protocol", "Cannot use an empty host name");
  const text = sent.length > 255 ? sent : asciiName(sent) ?? sent;
  if (text.length > 255) {
    throw new PosternError("protocol", "Cannot use a host name of more than 255 characters");
  }
  if (/[\s\p{Cc}/\\?#@]/u.test(text)) {
    throw new PosternError(
      "protocol",
      "Cannot use a host name with blanks, control characters or parts of a URL",
    );
  }
  if (!text.includes(":") && text[0] !== "[") return text;
  const bytes = parseIp(text[0] === "[" && text.endsWith("]") ? text.slice(1, -1) : text);
  if (bytes?.length !== 16) {
    throw new PosternError("protocol", `Cannot read "${text}" as a name or an address`, {
      detail: "address_type",
      hint: "send the port apart from the name, and an IPv6 address without a zone",
    });
  }
  return formatIp(bytes);
}
