import assert from "node:assert/strict";
import {
  formatIp,
  isLoopback,
  isLoopbackHost,
  parseIp,
  parseIPv4,
  parseIPv6,
  unmapped,
} from "../../../src/words/mod.ts";

for (const text of ["0.0.0.0", "127.0.0.1", "255.255.255.255", "10.200.3.40"]) {
  Deno.test(`parseIPv4() reads ${text}`, () => {
    assert.deepEqual([...parseIPv4(text) ?? []], text.split(".").map(Number));
  });
}

const namesOfNumbers = [
  "",
  "1",
  "10.1",
  "1.2.3",
  "1.2.3.4.",
  ".1.2.3.4",
  "1.2.3.4.5",
  "1..3.4",
  "256.0.0.1",
  "1.2.3.999",
  "1.2.3.0004",
  "01.2.3.4",
  "010.0.0.1",
  "0x7f.0.0.1",
  "1.2.3.4 ",
  "1.2.3.-4",
  "1.2.3.٤",
];
for (const text of namesOfNumbers) {
  Deno.test(`parseIPv4() rejects ${JSON.stringify(text)}`, () => {
    assert.equal(parseIPv4(text), undefined);
  });
}

const spellings = [
  { text: "::", canonical: "::" },
  { text: "::1", canonical: "::1" },
  { text: "1::", canonical: "1::" },
  { text: "2001:DB8:0:0:0:0:0:1", canonical: "2001:db8::1" },
  { text: "2001:db8:0:1:1:1:1:1", canonical: "2001:db8:0:1:1:1:1:1" },
  { text: "2001:0:0:1:0:0:0:1", canonical: "2001:0:0:1::1" },
  { text: "2001:db8:0:0:1:0:0:1", canonical: "2001:db8::1:0:0:1" },
  { text: "0:0:0:0:0:0:0:0", canonical: "::" },
  { text: "1:2:3:4:5:6:7:8", canonical: "1:2:3:4:5:6:7:8" },
  { text: "1:2:3:4:5:6:7::", canonical: "1:2:3:4:5:6:7:0" },
  { text: "::ffff:192.0.2.1", canonical: "::ffff:192.0.2.1" },
  { text: "::FFFF:c000:0201", canonical: "::ffff:192.0.2.1" },
  { text: "64:ff9b::192.0.2.33", canonical: "64:ff9b::c000:221" },
  { text: "1:2:3:4:5:6:1.2.3.4", canonical: "1:2:3:4:5:6:102:304" },
];
for (const { text, canonical } of spellings) {
  Deno.test(`formatIp() writes ${text} as ${canonical} (RFC 5952)`, () => {
    const bytes = parseIPv6(text);
    assert.equal(bytes?.length, 16);
    assert.equal(formatIp(bytes ?? new Uint8Array()), canonical);
    assert.deepEqual(parseIPv6(canonical), bytes);
  });
}

const noIPv6 = [
  "",
  ":",
  ":::",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1::2::3",
  "1:2:3:4::5:6:7:8",
  ":1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:",
  "12345::",
  "g::",
  "1.2.3.4::",
  "::1.2.3",
  "::1.2.3.4:5",
  "::01.2.3.4",
  "[::1]",
  "fe80::1%eth0",
  " ::1",
  "1.2.3.4",
];
for (const text of noIPv6) {
  Deno.test(`parseIPv6() rejects ${JSON.stringify(text)}`, () => {
    assert.equal(parseIPv6(text), undefined);
  });
}

Deno.test("formatIp() and parseIp() are inverses for addresses of all shapes", () => {
  let seed = 7;
  const next = () => seed = (seed * 1103515245 + 12345) >>> 0;
  for (let round = 0; round < 5000; round++) {
    const bytes = new Uint8Array(next() & 65536 ? 4 : 16);
    // Half of the bytes are 0, which gives runs to shorten.
    for (let at = 0; at < bytes.length; at++) bytes[at] = next() & 65536 ? next() >> 16 : 0;
    assert.deepEqual(parseIp(formatIp(bytes)), bytes, formatIp(bytes));
  }
});

const loopbacks = [
  { host: "127.0.0.1", is: true },
  { host: "127.255.255.254", is: true },
  { host: "128.0.0.1", is: false },
  { host: "::1", is: true },
  { host: "::2", is: false },
  { host: "::", is: false },
  { host: "0.0.0.0", is: false },
  { host: "::ffff:127.9.9.9", is: true },
  { host: "::ffff:10.0.0.1", is: false },
  { host: "::127.0.0.1", is: false },
];
for (const { host, is } of loopbacks) {
  Deno.test(`isLoopback() of ${host} is ${is}`, () => {
    const bytes = parseIp(host);
    assert.ok(bytes);
    assert.equal(isLoopback(bytes), is);
    assert.equal(isLoopbackHost(host.includes(":") ? `[${host}]` : host), is);
  });
}

const hosts = [
  { host: "localhost", is: true },
  { host: "LocalHost.", is: true },
  { host: "instance.localhost", is: true },
  { host: "localhost.example", is: false },
  { host: "notlocalhost", is: false },
  { host: "127.1", is: false },
  { host: "127.0.0.1.example", is: false },
  { host: "", is: false },
];
for (const { host, is } of hosts) {
  Deno.test(`isLoopbackHost() of ${JSON.stringify(host)} is ${is}`, () =>
    assert.equal(isLoopbackHost(host), is));
}

Deno.test("unmapped() returns the embedded IPv4 address and other addresses unchanged", () => {
  const ip = (text: string) => parseIp(text) ?? new Uint8Array();
  assert.deepEqual(unmapped(ip("::ffff:1.2.3.4")), ip("1.2.3.4"));
  for (const text of ["::1.2.3.4", "::fffe:1.2.3.4", "1::ffff:1.2.3.4", "1.2.3.4"]) {
    assert.deepEqual(unmapped(ip(text)), ip(text));
  }
});
