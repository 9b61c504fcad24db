/** Texts that a resolver, the URL standard or a socket reads as 127.0.0.1. */
export const loopbackSpellings: readonly string[] = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "0x7f.1",
  "0X7F.1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "127.0.0.01",
  "127.0.0.0x1",
  "127.0.0.1.",
  "2130706433.",
  "127。0。0。1",
  "127.0.0.1。",
  "１２７.0.0.1",
  "０ｘ７ｆ．１",
  "::ffff:127.0.0.1",
  "::FFFF:7f00:1",
  "0:0:0:0:0:ffff:127.0.0.1",
];

/** Texts for the unspecified addresses: a connection to one reaches loopback. */
export const unspecifiedSpellings: readonly string[] = [
  "0",
  "0.",
  "0.0.0.0",
  "00.0.0.0",
  "0x0",
  "0x",
  "0.0",
  "０.0",
  "::ffff:0.0.0.0",
  "::ffff:0:0",
  "::",
  "0:0:0:0:0:0:0:0",
  "::0.0.0.0",
];

/** Texts that end in a number but are not addresses. */
export const noAddresses: readonly string[] = [
  "1.2.3.4.5",
  "127.0.0.256",
  "256.0.0.1",
  "127.0.0.08",
  "0x7f.0x1000000",
  "4294967296",
  "0x100000000",
  "127..1",
  "example.1",
  "example.0x7f",
  "１２７.0.0.２５６",
];

/** Names with characters that a reader cannot see. */
export const invisibleNames: readonly string[] = [
  "exam\u202eple.test",
  "\u2066example.test\u2069",
  "\u200fexample.test",
  "exam\u061cple.test",
  "exam\u200bple.test",
  "exam\u00adple.test",
  "\ufeffexample.test",
];

/** The dots that IDNA accepts. */
export const anyDot: readonly string[] = [".", "。", "．", "｡"];

/** Numbers that select a spelling. */
export type Choices = Iterator<number>;

function pick<T>(from: readonly T[], choices: Choices): T {
  const found = from[(choices.next().value ?? 0) % from.length];
  if (found === undefined) throw new Error("Cannot choose from an empty list");
  return found;
}

/** Returns a spelling of an IPv4 address; `isPlain` uses only ASCII, as browsers send hosts. */
export function spelledFour(bytes: readonly number[], choices: Choices, { isPlain = false } = {}): string {
  const single = pick([0, 1, 2, 3], choices);
  const last = bytes.slice(single).reduce((value, byte) => value * 256 + byte, 0);
  const dots = isPlain ? ["."] : anyDot;
  let text = "";
  for (const number of bytes.slice(0, single)) text += spelledNumber(number, choices) + pick(dots, choices);
  text += spelledNumber(last, choices) + pick(["", "", ...dots], choices);
  return isPlain
    ? text
    : [...text].map((character) => pick([character, fullWidth(character)], choices)).join("");
}

function spelledNumber(number: number, choices: Choices): string {
  const zeros = pick(["", "", "0", "000000"], choices);
  const hex = pick([number.toString(16), number.toString(16).toUpperCase()], choices);
  return pick(
    [`${number}`, `0${zeros}${number.toString(8)}`, `${pick(["0x", "0X"], choices)}${zeros}${hex}`],
    choices,
  );
}

/** Returns the full-width form of a digit or letter. */
export function fullWidth(text: string): string {
  return text.replace(/[0-9a-z]/gi, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0));
}

/** Returns a spelling of an IPv6 address. */
export function spelledSix(bytes: readonly number[], choices: Choices): string {
  const groups = Array.from({ length: 8 }, (_, at) => {
    const hex = ((bytes[at * 2] ?? 0) * 256 + (bytes[at * 2 + 1] ?? 0)).toString(16);
    return pick([hex, hex.toUpperCase(), hex.padStart(4, "0")], choices);
  });
  if (pick([false, true], choices)) groups.splice(6, 2, bytes.slice(12).join("."));
  const first = pick([0, 1, 2, 3, 4, 5, 6], choices);
  let end = first;
  while (end < 6 && /^0+$/.test(groups[end] ?? "")) end++;
  if (end === first) return groups.join(":");
  return `${groups.slice(0, first).join(":")}::${groups.slice(end).join(":")}`;
}
