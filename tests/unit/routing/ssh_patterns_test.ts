import assert from "node:assert/strict";
import { parseRouteLines, routedPatterns, Router } from "../../../src/routing/mod.ts";

/** The patterns of a list of routes, one text per block. */
function patternsOf(lines: string, { fallback = "direct", except = [] as readonly string[] } = {}) {
  const { rules } = parseRouteLines(lines, { name: "list.txt" });
  const { routed, left } = routedPatterns(new Router({ rules, fallback }), {
    isRouted: (transport) => transport !== "direct" && transport !== "reject",
    except,
  });
  return { blocks: routed.map(({ patterns }) => patterns.join(" ")), left: left.map(({ why }) => why) };
}

const cases = [
  { name: "a tree", lines: "example.net corp", blocks: ["example.net *.example.net"] },
  { name: "names below a name", lines: ".svc lab", blocks: ["*.svc"] },
  { name: "an exact name", lines: "=db.example.net corp", blocks: ["db.example.net"] },
  { name: "direct and rejected rules", lines: "a.example direct\nb.example reject", blocks: [] },
  {
    name: "an exclusion inside a tree",
    lines: "example.net corp\npub.example.net direct",
    blocks: ["example.net *.example.net !pub.example.net !*.pub.example.net"],
  },
  {
    name: "a routed name inside an exclusion",
    lines: "example.net corp\npub.example.net direct\n=db.pub.example.net other",
    blocks: ["example.net *.example.net !pub.example.net !*.pub.example.net", "db.pub.example.net"],
  },
  {
    name: "a jump host inside a tree",
    lines: "example.net corp",
    except: ["jump1.example.net", "elsewhere"],
    blocks: ["example.net *.example.net !jump1.example.net"],
  },
  { name: "a jump host as the only name", lines: "=jump1 corp", except: ["jump1"], blocks: [] },
  { name: "a network of whole octets", lines: "10.0.0.0/8 corp", blocks: ["10.*.*.*"] },
  { name: "a smaller one", lines: "10.1.2.0/24 corp", blocks: ["10.1.2.*"] },
  { name: "one address", lines: "10.1.2.3 corp\n2001:db8::1 corp", blocks: ["10.1.2.3", "2001:db8::1"] },
  {
    name: "a network between octets",
    lines: "10.1.4.0/22 corp",
    blocks: ["10.1.4.* 10.1.5.* 10.1.6.* 10.1.7.*"],
  },
  {
    name: "a network inside another",
    lines: "10.0.0.0/8 corp\n10.7.0.0/16 direct",
    blocks: ["10.*.*.* !10.7.*.*"],
  },
  { name: "a network of too many patterns", lines: "10.0.0.0/9 corp", left: ["it would need 128 patterns"] },
  {
    name: "an IPv6 network",
    lines: "2001:db8::/32 corp",
    left: ["ssh compares text, and an IPv6 address has many spellings"],
  },
  { name: "another port", lines: "db.example.net:5432 corp", left: ["it applies only to port 5432"] },
  { name: "the port of ssh", lines: "=db.example.net:22 corp", blocks: ["db.example.net"] },
  {
    name: "the default",
    lines: "pub.example direct",
    fallback: "corp",
    except: ["jump1"],
    blocks: ["* !localhost !127.* !::1 !pub.example !*.pub.example !jump1"],
  },
];
for (const { name, lines, fallback, except, blocks = [], left = [] } of cases) {
  Deno.test(`routedPatterns() expresses ${name}`, () => {
    const options = { ...(fallback && { fallback }), ...(except && { except }) };
    assert.deepEqual(patternsOf(lines, options), { blocks, left });
  });
}

Deno.test("routedPatterns() makes a block for each of 10,000 rules in a few seconds", () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `a${at}.region${at % 17}.example.net`);
  const lines = names.map((name, at) => `${name} ${at % 50 === 0 ? "direct" : "corp"}`).join("\n");
  const begun = performance.now();
  const { blocks } = patternsOf(lines);
  assert.ok(performance.now() - begun < 5000);
  assert.equal(blocks.length, 9800);
});
