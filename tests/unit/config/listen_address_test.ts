import assert from "node:assert/strict";
import { listenAddress, parseListenAddress, unixAddress } from "../../../src/config/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { parsed } from "./schema_cases.ts";

const one = (host: string, port: number) => [{ endpoint: { host, port }, mayBeMissing: false }];
const both = (
  port: number,
) => [...one("127.0.0.1", port), { endpoint: { host: "::1", port }, mayBeMissing: true }];

const rights: { written: string; text?: string; sockets: unknown; isLoopback: boolean }[] = [
  { written: "127.0.0.1:12000", sockets: one("127.0.0.1", 12000), isLoopback: true },
  { written: "[::1]:12000", sockets: one("::1", 12000), isLoopback: true },
  { written: "[0:0::1]:1", text: "[::1]:1", sockets: one("::1", 1), isLoopback: true },
  { written: "localhost:12000", sockets: both(12000), isLoopback: true },
  { written: "LocalHost:0", text: "localhost:0", sockets: both(0), isLoopback: true },
  { written: "12000", text: "localhost:12000", sockets: both(12000), isLoopback: true },
  { written: "127.8.9.1:1", sockets: one("127.8.9.1", 1), isLoopback: true },
  { written: "0.0.0.0:1080", sockets: one("0.0.0.0", 1080), isLoopback: false },
  { written: "[::]:1080", sockets: one("::", 1080), isLoopback: false },
  { written: "[::ffff:127.0.0.1]:1", sockets: one("::ffff:127.0.0.1", 1), isLoopback: true },
  { written: "192.0.2.1:65535", sockets: one("192.0.2.1", 65535), isLoopback: false },
  {
    written: "unix:/run/postern.sock",
    sockets: [{ endpoint: { path: "/run/postern.sock" }, mayBeMissing: false }],
    isLoopback: true,
  },
];
for (const { written, text = written, sockets, isLoopback } of rights) {
  Deno.test(`parseListenAddress() reads ${written}`, () => {
    assert.deepEqual(parseListenAddress(written), { text, sockets, isLoopback });
  });
}

const wrongs: [string, RegExp][] = [
  [":12000", /0\.0\.0\.0:12000 or \[::\]:12000 for all interfaces/],
  ["*:12000", /for all interfaces/],
  ["127.0.0.1", /add a port: 127\.0\.0\.1:12000/],
  ["::1", /add a port: \[::1\]:12000/],
  ["::1:12000", /./],
  ["[::1]", /for example, 127/],
  ["[127.0.0.1]:1", /for example, 127/],
  ["[localhost]:1", /for example, 127/],
  ["[]:1", /for example, 127/],
  ["example.com:1", /for example, 127/],
  ["127.1:1", /for example, 127/],
  ["127.0.0.1:65536", /for example, 127/],
  ["127.0.0.1:-1", /for example, 127/],
  ["127.0.0.1:", /for example, 127/],
  ["", /for example, 127/],
  ["unix:", /for example, 127/],
];
for (const [written, hint] of wrongs) {
  Deno.test(`parseListenAddress() rejects ${JSON.stringify(written)} with a hint`, () => {
    assert.throws(() => parseListenAddress(written), (error) => {
      assert(error instanceof PosternError);
      assert.equal(error.code, "usage");
      assert.match(error.hint ?? "", hint);
      return true;
    });
  });
}

Deno.test("listenAddress() reads strings and ports, and reports other values", () => {
  assert.equal(parsed(listenAddress(), 12000).value?.text, "localhost:12000");
  assert.equal(parsed(listenAddress(), "[::1]:1").value?.text, "[::1]:1");
  assert.match(parsed(listenAddress(), ":1").said.join(), /current value is ":1", name the interface/);
  assert.match(parsed(listenAddress(), 65536).said.join(), /must be a port from 0 to 65535/);
  assert.match(parsed(listenAddress(), ["x"]).said.join(), /current value is a list$/);
});

Deno.test("unixAddress() is reachable from this machine only", () => {
  assert.equal(unixAddress("/a").isLoopback, true);
});

Deno.test("parseListenAddress() masks the password of a URL", () => {
  assert.throws(
    () => parseListenAddress("http://me:hunter2@proxy.example:3128"),
    { message: 'Cannot listen on "http://me:***@proxy.example:3128": invalid address' },
  );
});
