import assert from "node:assert/strict";
import { formatPattern, parsePattern } from "../../../src/routing/mod.ts";

const good: [text: string, canonical: string, warning?: RegExp][] = [
  ["example.com", "example.com"],
  ["Example.COM.", "example.com"],
  [".example.com", ".example.com"],
  ["*.example.com", ".example.com"],
  ["=example.com", "=example.com"],
  ["example.com:443", "example.com:443"],
  ["=example.com:443", "=example.com:443"],
  [".svc", ".svc"],
  ["_dmarc.example.com", "_dmarc.example.com"],
  ["bücher.example", "xn--bcher-kva.example"],
  [".BÜCHER.example", ".xn--bcher-kva.example"],
  ["10.0.0.1", "10.0.0.1"],
  ["=10.0.0.1", "10.0.0.1"],
  ["10.0.0.1/32", "10.0.0.1"],
  ["10.0.0.0/8", "10.0.0.0/8"],
  ["10.0.0.0/8:443", "10.0.0.0/8:443"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["10.1.2.3/8", "10.0.0.0/8", /means the network 10\.0\.0\.0\/8/],
  ["2001:db8::1", "2001:db8::1"],
  ["2001:DB8:0::/32", "2001:db8::/32"],
  ["2001:db8::5/32", "2001:db8::/32", /means the network 2001:db8::\/32/],
  ["[2001:db8::/32]:443", "[2001:db8::/32]:443"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["[::1]:80", "[::1]:80"],
  ["::/0", "::/0"],
  ["::ffff:10.0.0.0/104", "10.0.0.0/8"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["any", "any"],
  ["*", "any"],
  ["any:443", "any:443"],
  ["*:443", "any:443"],
  ["<local>", "<local>"],
  ["<services>", "<services>"],
  ["<clusterips>", "<clusterips>"],
  ["<Local>:80", "<local>:80"],
  [`${"a".repeat(63)}.example`, `${"a".repeat(63)}.example`],
];

for (const [text, canonical, warning] of good) {
  Deno.test(`parsePattern() reads ${text.slice(0, 40)}`, () => {
    const parsed = parsePattern(text);
    assert.ok("pattern" in parsed, JSON.stringify(parsed));
    assert.equal(formatPattern(parsed.pattern), canonical);
    if (warning) assert.match(parsed.warning ?? "", warning);
    else assert.equal(parsed.warning, undefined);
    const again = parsePattern(canonical);
    assert.ok("pattern" in again);
    assert.deepEqual(again.pattern, parsed.pattern);
  });
}

const bad: [text: string, problem: RegExp][] = [
  ["", /must be a pattern/],
  ["a b", /without blanks/],
  ["https://example.com:8443/x", /not a URL: write "example.com:8443"/],
  ["example..com", /empty label/],
  [".", /empty label/],
  ["..example.com", /empty label/],
  [`${"a".repeat(64)}.example`, /at most 63/],
  [`${"abcdefg.".repeat(32)}example`, /at most 253/],
  ["exa*ple.com", /only at the start/],
  ["*example.com", /only at the start/],
  ["example.com:0", /port from 1 to 65535/],
  ["example.com:65536", /port from 1 to 65535/],
  ["example.com:", /port from 1 to 65535/],
  ["example.com:http", /port from 1 to 65535/],
  ["10.0.0.0/33", /prefix length from 0 to 32/],
  ["10.0.0.0/", /prefix length from 0 to 32/],
  ["2001:db8::/129", /prefix length from 0 to 128/],
  ["10.0.0/8", /must be an address or a network/],
  ["10.0.0.0/8/8", /must be an address or a network/],
  ["999.999.999.999", /four numbers/],
  ["10.1", /four numbers from 0 to 255 or a name: write "10\.0\.0\.1" instead of "10\.1"/],
  ["１２７.1", /write "127\.0\.0\.1"/],
  ["1.2.3.256", /"1\.2\.3\.256" is neither/],
  ["a.0x7f", /four numbers/],
  [".10.0.0.1", /has no subdomains/],
  ["[10.0.0.1]:80", /brackets only around an IPv6/],
  ["[2001:db8::1", /brackets around an IPv6/],
  ["2001:db8::zz", /must be an address or a network/],
  ["<service>", /must be <local>, <services> or <clusterips>/],
  ["exam ple", /without blanks/],
  ["a,b", /not a valid label/],
  ["user@example.com", /not a valid label/],
];

for (const [text, problem] of bad) {
  Deno.test(`parsePattern() rejects ${JSON.stringify(text.slice(0, 40))}`, () => {
    const parsed = parsePattern(text);
    assert.ok("problem" in parsed, JSON.stringify(parsed));
    assert.match(parsed.problem, problem);
  });
}
