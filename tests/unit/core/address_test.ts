import assert from "node:assert/strict";
import {
  formatIp,
  isLoopback,
  isLoopbackHost,
  parseIp,
  parseIPv4,
  parseIPv6,
} from "../../../src/core/mod.ts";

const addresses: readonly (readonly [text: string, canonical: string])[] = [
  ["192.0.2.1", "192.0.2.1"],
  ["0.0.0.0", "0.0.0.0"],
  ["255.255.255.255", "255.255.255.255"],
  ["::", "::"],
  ["::1", "::1"],
  ["1::", "1::"],
  ["2001:DB8::a", "2001:db8::a"],
  ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
  ["0:0:1:0:0:0:0:0", "0:0:1::"],
  ["1:0:0:2:0:0:3:4", "1::2:0:0:3:4"],
  ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
  ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
  ["::ffff:c000:201", "::ffff:192.0.2.1"],
  ["::192.0.2.1", "::c000:201"],
  ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
  ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
];

for (const [text, canonical] of addresses) {
  Deno.test(`parseIp() reads ${text}, formatIp() writes ${canonical}`, () => {
    const bytes = parseIp(text);
    assert.ok(bytes);
    assert.equal(formatIp(bytes), canonical);
    assert.deepEqual(parseIp(canonical), bytes);
  });
}

const others = [
  "",
  "1",
  ":",
  ":::",
  "10.1",
  "010.0.0.1",
  "0x7f.0.0.1",
  "256.0.0.1",
  "1.2.3.4.",
  "1.2.3.4.5",
  ".1.2.3",
  "1.2.3.4 ",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1:2:3:4:5:6:7:8::",
  "::1:2:3:4:5:6:7:8",
  "1::2::3",
  "1:::2",
  ":1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:",
  "::1:",
  "12345::",
  "g::",
  "fe80::1%eth0",
  "[::1]",
  " ::1",
  "1.2.3.4::",
  "::1.2.3",
  "::1.2.3.256",
  "::1.2.3.4:5",
  "::a.2.3.4",
  "1:2:3:4:5:6:7:1.2.3.4",
  "2001:db8::１",
];

for (const text of others) {
  Deno.test(`parseIp() reads no address in ${JSON.stringify(text)}`, () => {
    assert.equal(parseIp(text), undefined);
    assert.equal(parseIPv4(text), undefined);
    assert.equal(parseIPv6(text), undefined);
  });
}

/** RFC 4291, section 2.2, word for word and without haste: what the one pass has to agree with. */
function readSlowly(text: string): number[] | undefined {
  const halves = text.split("::");
  const read = (half: string, isLast: boolean): number[] | undefined => {
    const numbers: number[] = [];
    if (half === "") return numbers;
    const parts = half.split(":");
    for (const [index, part] of parts.entries()) {
      if (/^[0-9a-f]{1,4}$/i.test(part)) {
        numbers.push(parseInt(part, 16) >> 8, parseInt(part, 16) & 255);
      } else if (
        isLast && index === parts.length - 1 && /^(?:(?:0|[1-9][0-9]{0,2})(?:\.(?!$)|$)){4}$/.test(part) &&
        part.split(".").every((number) => Number(number) < 256)
      ) {
        numbers.push(...part.split(".").map(Number));
      } else {
        return undefined;
      }
    }
    return numbers;
  };
  const head = read(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? read(halves[1] ?? "", true) : [];
  if (!head || !tail || halves.length > 2) return undefined;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined;
  return [...head, ...new Array<number>(missing).fill(0), ...tail];
}

/** A small generator of its own: the same seed gives the same cases everywhere (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % below;
  };
}

Deno.test("parseIPv6() agrees with the slow reader on texts that are nearly addresses", () => {
  const dice = random(4291);
  const pieces = [
    ":",
    ":",
    "::",
    "0",
    "1",
    "ff",
    "DB8",
    "ffff",
    "12345",
    "1.2.3.4",
    "192.0.2.255",
    ".",
    "1.2.3",
    "%",
    "g",
  ];
  let addresses = 0;
  for (let round = 0; round < 30_000; round++) {
    const isMostlyGood = dice(2) === 0;
    const text = isMostlyGood
      ? Array.from({ length: 5 + dice(5) }, () => ["0", "1", "ab", "ffff", ""][dice(5)]).join(":") +
        (dice(5) === 0 ? ":1.2.3.4" : "")
      : Array.from({ length: 1 + dice(12) }, () => pieces[dice(pieces.length)]).join("");
    const expected = text.length < 2 ? undefined : readSlowly(text);
    if (expected) addresses++;
    assert.deepEqual(parseIPv6(text), expected && new Uint8Array(expected), text);
  }
  assert.ok(addresses > 500, `only ${addresses} of the texts were addresses`);
});

Deno.test("formatIp() is undone by parseIp(), and writes IPv6 as URLs do", () => {
  const dice = random(5952);
  for (let round = 0; round < 5000; round++) {
    const bytes = new Uint8Array(dice(4) === 0 ? 4 : 16);
    // Mostly zeros, so that there is something to shorten.
    for (let at = 0; at < bytes.length; at += 2) if (dice(3) === 0) bytes[at + dice(2)] = dice(256);
    const text = formatIp(bytes);
    assert.deepEqual(parseIp(text), bytes, text);
    // The URL standard writes an IPv4 address inside IPv6 as two groups.
    if (bytes.length === 16 && !text.includes(".")) {
      assert.equal(new URL(`http://[${text}]`).hostname, `[${text}]`);
    }
  }
});

for (const host of ["localhost", "LOCALHOST.", "a.localhost", "127.9.9.9", "[::1]", "::ffff:127.0.0.1"]) {
  Deno.test(`isLoopbackHost() knows ${host}`, () => assert.equal(isLoopbackHost(host), true));
}
for (const host of ["localhost.example", "128.0.0.1", "::", "2001::1", "::2", "[::ffff:128.0.0.1]"]) {
  Deno.test(`isLoopbackHost() tells ${host} apart`, () => {
    assert.equal(isLoopbackHost(host), false);
    const bytes = parseIp(host);
    if (bytes) assert.equal(isLoopback(bytes), false);
  });
}
