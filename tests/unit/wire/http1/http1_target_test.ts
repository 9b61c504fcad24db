import assert from "node:assert/strict";
import { Http1Problem, parseAuthority, requestTarget } from "../../../../src/wire/mod.ts";

const forms = [
  { method: "GET", target: "/a?b", as: { form: "origin", path: "/a?b" } },
  { method: "OPTIONS", target: "*", as: { form: "asterisk" } },
  {
    method: "CONNECT",
    target: "a.example:443",
    as: { form: "authority", target: { host: "a.example", port: 443 } },
  },
  { method: "CONNECT", target: "[::1]:1", as: { form: "authority", target: { host: "::1", port: 1 } } },
  { method: "GET", target: "http://a.example", as: absolute("http", "a.example", 80, "a.example", "/") },
  {
    method: "GET",
    target: "HTTP://a.example:8080/x/y?z",
    as: absolute("http", "a.example", 8080, "a.example:8080", "/x/y?z"),
  },
  { method: "GET", target: "http://a.example?q", as: absolute("http", "a.example", 80, "a.example", "/?q") },
  { method: "GET", target: "http://a.example:/", as: absolute("http", "a.example", 80, "a.example", "/") },
  {
    method: "GET",
    target: "https://[2001:db8::1]/",
    as: absolute("https", "2001:db8::1", 443, "[2001:db8::1]", "/"),
  },
  { method: "GET", target: "ws://a.example/chat", as: absolute("ws", "a.example", 80, "a.example", "/chat") },
  {
    method: "CONNECT",
    target: "b\xc3\xbccher.example:443",
    as: { form: "authority", target: { host: "xn--bcher-kva.example", port: 443 } },
  },
  {
    method: "GET",
    target: "http://b\xc3\xbccher.example:8080/\xc3\xbc",
    as: absolute("http", "xn--bcher-kva.example", 8080, "xn--bcher-kva.example:8080", "/\xc3\xbc"),
  },
  {
    method: "GET",
    target: "http://b\xc3\xbccher.example:",
    as: absolute("http", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", "/"),
  },
  {
    method: "CONNECT",
    target: "0x7f.1:443",
    as: { form: "authority", target: { host: "127.0.0.1", port: 443 } },
  },
  {
    method: "CONNECT",
    target: "[::FFFF:7f00:1]:1",
    as: { form: "authority", target: { host: "::ffff:127.0.0.1", port: 1 } },
  },
  {
    method: "GET",
    target: "http://127.1:8080/",
    as: absolute("http", "127.0.0.1", 8080, "127.0.0.1:8080", "/"),
  },
  {
    method: "GET",
    target: "http://127\xe3\x80\x820.0.1./",
    as: absolute("http", "127.0.0.1", 80, "127.0.0.1", "/"),
  },
  {
    method: "GET",
    target: "https://[2001:DB8:0::1]:/",
    as: absolute("https", "2001:db8::1", 443, "[2001:db8::1]", "/"),
  },
  {
    method: "GET",
    target: "http://a.example/x?y#part",
    as: absolute("http", "a.example", 80, "a.example", "/x?y"),
  },
  { method: "GET", target: "http://a.example#@b/c", as: absolute("http", "a.example", 80, "a.example", "/") },
  ...[
    { user: "", authorization: undefined },
    { user: "me:secret", authorization: `Basic ${btoa("me:secret")}` },
    { user: "me", authorization: `Basic ${btoa("me:")}` },
    { user: ":", authorization: `Basic ${btoa(":")}` },
    { user: "m%40e:a%0d%0ab%zz", authorization: `Basic ${btoa("m@e:a\r\nb%zz")}` },
    { user: "m%C3%BCe:\xc3\xbc%FC", authorization: `Basic ${btoa("m\xc3\xbce:\xc3\xbc\xfc")}` },
    { user: "b.example:80@me:secret", authorization: `Basic ${btoa("b.example:80@me:secret")}` },
  ].map(({ user, authorization }) => ({
    method: "GET",
    target: `http://${user}@a.example:81/x`,
    as: {
      ...absolute("http", "a.example", 81, "a.example:81", "/x"),
      ...(authorization && { authorization }),
    },
  })),
  { method: "OPTIONS", target: "http://a.example", as: absolute("http", "a.example", 80, "a.example", "*") },
];
for (const { method, target, as } of forms) {
  Deno.test(`requestTarget() parses ${method} ${target}`, () => {
    assert.deepEqual(requestTarget({ method, target }), as);
  });
}

const refused = [
  "CONNECT a.example",
  "CONNECT a.example:",
  "CONNECT a.example:0",
  "CONNECT a.example:65536",
  "CONNECT :443",
  "CONNECT /",
  "CONNECT http://a.example/",
  "CONNECT ::1:443",
  "CONNECT [::1:443",
  "CONNECT [a.example]:443",
  `CONNECT ${"a".repeat(256)}:443`,
  "GET *",
  "GET a.example:80",
  "GET http:a.example",
  "GET http:///x",
  "CONNECT user:secret@a.example:443",
  "GET http://other.example\\@a.example/",
  "GET http://user:secret@/",
  "GET http://user@a@",
  "GET http://b\xfccher.example/",
  "GET http://b\xc3\xbccher..\xe2\x80\xa8example/",
  "CONNECT \xc3\xbc\xef\xbc\x9a80:443",
  "CONNECT \xc3\xbc\xef\xbc\x8fa:443",
  "GET http://a.example:80:80/",
  "GET http://[::1%25eth0]/",
  "CONNECT 127.0.0.256:443",
  "GET http://1.2.3.4.5/",
  "GET http://example.0x7f/",
  "CONNECT %31%32%37.0.0.1:443",
  "CONNECT exam\xe2\x80\xaeple.test:443",
  "GET http://\xef\xbb\xbfexample.test/",
];
for (const line of refused) {
  Deno.test(`requestTarget() rejects ${line.slice(0, 60)}`, () => {
    const [method = "", target = ""] = line.split(" ");
    assert.throws(
      () => requestTarget({ method, target }),
      (error) =>
        error instanceof Http1Problem && error.status === 400 && error.message.startsWith("Cannot read"),
    );
  });
}

Deno.test("parseAuthority() finishes for a megabyte of any input", () => {
  const started = performance.now();
  for (const text of ["[", ":", "1.", "a", "0", "\xe3\x80\x82", "[:"]) {
    assert.throws(() => parseAuthority(text.repeat(1_000_000)), Http1Problem);
    assert.throws(() => parseAuthority(`[${text.repeat(1_000_000)}`), Http1Problem);
  }
  // Quadratic time would take minutes; the bound leaves room for a busy machine.
  assert.ok(performance.now() - started < 20_000);
});

Deno.test("parseAuthority() reports a missing port with a hint", () => {
  assert.throws(() => parseAuthority("a.example"), { message: /no port$/, hint: "write a.example:443" });
});

Deno.test("requestTarget() does not quote a target's password", () => {
  assert.throws(() => requestTarget({ method: "GET", target: "http://me:secret@a.example:0/" }), (error) => {
    return error instanceof Error && !error.message.includes("secret");
  });
});

Deno.test("requestTarget() does not quote a password with characters that end the authority", () => {
  for (const password of ["se/cret", "se?cret", "se#cret", "secret/x@y"]) {
    for (const start of ["http://", "ftp+x://", ""]) {
      const target = `${start}me:${password}@a.example:80/`;
      assert.throws(() => requestTarget({ method: "GET", target }), (error) => {
        return error instanceof Error && error.message.includes("…@a.example") &&
          !/me|se/.test(error.message);
      }, target);
    }
  }
});

Deno.test("requestTarget() does not quote a password of any length", () => {
  for (const length of [6, 100, 292, 293, 294, 295, 5000]) {
    const target = `me:${"secret".padEnd(length, "x")}@a.example:443`;
    assert.throws(() => requestTarget({ method: "CONNECT", target }), (error) => {
      return error instanceof Error && !error.message.includes("secret") && error.message.includes("@");
    });
  }
});

function absolute(scheme: string, host: string, port: number, authority: string, path: string): object {
  return { form: "absolute", scheme, target: { host, port }, authority, path };
}
