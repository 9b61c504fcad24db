import { formatIp, parseIPv4, parseIPv6 } from "./address.ts";
import { asciiName } from "./ascii_name.ts";
import { endsInNumber, parseAnyIPv4 } from "./numeric_host.ts";

/** Why a text is not a valid host: the end of an error sentence, and a hint. */
export interface HostProblem {
  readonly problem: string;
  readonly hint: string;
}

/**
 * The canonical form of a host for rules, transports and the log; every reader of a client's request calls this first.
 * Resolvers read `127.1`, `0x7f.1` and `2130706433` as addresses. Therefore a host that ends in a number must be an
 * IPv4 address by the URL standard. International names become punycode; ASCII names stay unchanged.
 */
export function canonicalHost(text: string): string | HostProblem {
  if (isPlainName(text) || parseIPv4(text)) return text;
  if (text === "") return nothing;
  if (text.length > 255) return tooLong;
  if (text.includes(":")) {
    const bytes = parseIPv6(text);
    return bytes ? formatIp(bytes) : noIPv6;
  }
  if (invisible.test(text)) return hidden;
  const name = asciiName(text);
  if (name === undefined) return noName;
  if (name.length > 255) return tooLong;
  if (odd.test(name)) return oddCharacter;
  if (!endsInNumber(name)) return name;
  const bytes = parseAnyIPv4(name);
  return bytes ? formatIp(bytes) : noIPv4;
}

/** Whether a host is of the common kind: letters, digits, `-`, `_` and dots, and no digit at the start of the last label. */
function isPlainName(text: string): boolean {
  if (text.length === 0 || text.length > 255) return false;
  let lastLabel = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === dot) {
      if (at + 1 < text.length) lastLabel = at + 1;
    } else if (!isLetter(code) && !isDigit(code) && code !== dash && code !== underscore) return false;
  }
  return !isDigit(text.charCodeAt(lastLabel));
}

function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

const dot = 46;
const dash = 45;
const underscore = 95;

/** Invisible characters, except the joiners of some scripts and the selectors of emoji, which UTS 46 checks or drops. */
const invisible = /[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]--[\u200c\u200d\ufe0e\ufe0f]]/v;

/** Characters that the URL standard forbids in a domain (section 3.1): other programs could decode or cut the name. */
const odd = /[\s#%/<>?@[\\\]^|]/;

const wanted = "use a name such as example.com, or an address such as 192.0.2.1 or 2001:db8::1";
const nothing: HostProblem = { problem: "the host is empty", hint: wanted };
const tooLong: HostProblem = { problem: "the host has more than 255 characters", hint: wanted };
const hidden: HostProblem = { problem: "the host contains control or invisible characters", hint: wanted };
const oddCharacter: HostProblem = { problem: "the host contains spaces or parts of a URL", hint: wanted };
const noName: HostProblem = { problem: "the host is not a valid international name", hint: wanted };
const noIPv6: HostProblem = {
  problem: "the host is not an IPv6 address",
  hint: "send the port separately from the name, and an IPv6 address without a zone",
};
const noIPv4: HostProblem = {
  problem: "the host ends in a number but is not an IPv4 address",
  hint: "use four numbers from 0 to 255 for an IPv4 address; a name must not end in a number",
};
