import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalHost, endsInNumber, formatIp, parseTarget, PosternError } from "../../src/words/mod.ts";
import { pacFile, parsePattern, Router } from "../../src/routing/mod.ts";
import { decodeHost } from "../../src/wire/host.ts";
import { parseAuthority, requestTarget } from "../../src/wire/mod.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { anyDot, spelledFour, spelledSix } from "../support/spellings.ts";

const octet = fc.oneof(fc.constantFrom(0, 1, 10, 127, 169, 254, 255), fc.integer({ min: 0, max: 255 }));
const four = fc.array(octet, { minLength: 4, maxLength: 4 });
const six = fc.array(octet, { minLength: 16, maxLength: 16 });
const choices = fc.infiniteStream(fc.nat());

/** Returns the host that each reader parses from a text, or undefined if it refuses. */
function readings(text: string): Readonly<Record<string, string | undefined>> {
  const bytes = new TextEncoder().encode(text);
  const sent = String.fromCharCode(...bytes);
  const authority = `${text.includes(":") ? `[${sent}]` : sent}:443`;
  return {
    SOCKS: orRefused(() => decodeHost(bytes)),
    CONNECT: orRefused(() => parseAuthority(authority).host),
    "absolute form": orRefused(() => {
      const wanted = requestTarget({ method: "GET", target: `http://${authority}/` });
      assert.ok(wanted.form === "absolute");
      assert.equal(
        wanted.authority,
        text.includes(":") ? `[${wanted.target.host}]:443` : `${wanted.target.host}:443`,
      );
      return wanted.target.host;
    }),
    explain: orRefused(() => parseTarget(text.includes(":") ? `[${text}]:443` : `${text}:443`).host),
  };
}

function orRefused(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof PosternError) return undefined;
    throw error;
  }
}

/** A router with one rule, for an address. */
function routerFor(address: string): Router {
  const parsed = parsePattern(address);
  assert.ok("pattern" in parsed);
  const rule = {
    text: address,
    pattern: parsed.pattern,
    transport: "hit",
    source: "fuzz",
    tier: "routes",
  } as const;
  return new Router({ rules: [rule], fallback: "missed" });
}

Deno.test("canonicalHost() and Router.route() understand every spelling of an address in every reader", () => {
  const written = fc.oneof(
    fc.tuple(four, choices).map(([bytes, stream]) => ({ bytes, text: spelledFour(bytes, stream) })),
    fc.tuple(six, choices).map(([bytes, stream]) => ({ bytes, text: spelledSix(bytes, stream) })),
  );
  fc.assert(
    fc.property(written, ({ bytes, text }) => {
      const address = formatIp(Uint8Array.from(bytes));
      for (const [reader, host] of Object.entries(readings(text))) assert.equal(host, address, reader);
      const router = routerFor(address);
      assert.equal(router.route({ host: address, port: 1 }).transport, "hit");
      assert.equal(router.route({ host: text, port: 1 }).transport, "hit");
      assert.equal(router.explain({ host: text, port: 1 }).transport, "hit");
    }),
    { numRuns: fuzzRuns(2000) },
  );
});

Deno.test("pacFile() reads every ASCII spelling like the router", () => {
  const written = fc.tuple(fc.oneof(four, six), choices).filter(([bytes]) =>
    bytes.some((byte) => byte !== 0)
  );
  fc.assert(
    fc.property(written, ([bytes, stream]) => {
      const spelled = bytes.length === 4 ? spelledFour : spelledSix;
      const text = spelled(bytes, stream, { isPlain: true });
      const router = new Router({
        rules: routerFor(formatIp(Uint8Array.from(bytes))).rules,
        fallback: "direct",
      });
      const script = `${pacFile(router, { listener: "127.0.0.1:12000" })}\nreturn FindProxyForURL;`;
      const find = new Function(script)() as (url: string, host: string) => string;
      const url = `https://${text.includes(":") ? `[${text}]` : text}/`;
      assert.equal(find(url, text), "SOCKS5 127.0.0.1:12000", url);
    }),
    { numRuns: fuzzRuns(300) },
  );
});

Deno.test("canonicalHost() accepts the same ASCII texts as the URL standard and reads the same address", () => {
  const text = fc.string({ unit: fc.constantFrom(..."0123456789abfxXz.-"), minLength: 1, maxLength: 24 });
  fc.assert(
    fc.property(text, (text) => {
      const host = canonicalHost(text);
      const known = URL.parse(`http://${text}/`)?.hostname;
      assert.equal(typeof host === "string" ? host.toLowerCase() : undefined, known);
    }),
    { numRuns: fuzzRuns(20_000) },
  );
});

Deno.test("canonicalHost() refuses a text in any script or agrees with the URL standard", () => {
  const odd = [..."１２７０ｘ．。｡0127x.٣①²üß日\u200d\u202e\u00ad\u200b\ufeff%-"];
  const text = fc.string({ unit: fc.constantFrom(...odd), minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(text, (text) => {
      const known = URL.parse(`http://${text}/`)?.hostname;
      for (const [reader, host] of Object.entries(readings(text))) {
        if (host === undefined) continue;
        assert.equal(host.toLowerCase(), known, reader);
        assert.doesNotMatch(host, /[^\x21-\x7e]/);
        assert.ok(!endsInNumber(host) || /^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$/.test(host));
      }
    }),
    { numRuns: fuzzRuns(5000) },
  );
});

Deno.test("canonicalHost() agrees with every reader and is idempotent", () => {
  const any = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom(..."a1.0x", ...anyDot, "１", "\u202e", "é"),
      minLength: 1,
      maxLength: 20,
    }),
  ).filter((text) => text.isWellFormed() && !/[\s/?#@:[\]]/.test(text));
  fc.assert(
    fc.property(any, (text) => {
      const hosts = new Set(Object.values(readings(text)));
      // HTTP allows fewer characters in a host than SOCKS, which accepts any ASCII name.
      if (/^[A-Za-z0-9._~!$&'()*+,;=%\x80-\uffff-]+$/.test(text)) {
        assert.equal(hosts.size, 1, [...hosts].join(" "));
      }
      for (const host of hosts) assert.ok(host === undefined || canonicalHost(host) === host, host);
    }),
    { numRuns: fuzzRuns(5000) },
  );
});
