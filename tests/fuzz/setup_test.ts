import assert from "node:assert/strict";
import fc from "fast-check";
import { isMapping, parseDocument, sameSettings } from "../../src/config/mod.ts";
import { withProposal } from "../../src/setup/insert_proposal.ts";
import type { Proposal } from "../../src/setup/proposal.ts";
import { PosternError } from "../../src/words/mod.ts";
import { readConfig } from "../../src/plan/mod.ts";
import { MemoryWorld } from "../support/memory_world.ts";
import { proposed } from "../unit/setup/found_fixtures.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";

const proposal: Proposal = {
  transports: [{ kind: "ssh", name: "gw-new", settings: "gw", reason: "why # : gw" }],
  routes: [
    { to: [".corp.example", "10.0.0.0/8"], via: "gw-new", reason: "why corp" },
    { to: [".guess.example"], via: "gw-new", reason: "a guess", isGuess: true },
  ],
  catalogues: [],
  secrets: [],
  notes: [],
};
const added = { "gw-new": { ssh: "gw" } };
const route = { to: [".corp.example", "10.0.0.0/8"], via: "gw-new" };

/** Checks that the old values stay, or that the text is refused; returns whether the proposal was added. */
async function isAdded(before: string): Promise<boolean> {
  const { value: old } = await parseDocument(before, { name: "before" });
  if (!isMapping(old)) return false;
  let after: string;
  try {
    after = withProposal(before, proposal);
  } catch (error) {
    assert.ok(error instanceof PosternError && error.code === "config", `${error}\n${before}`);
    return false;
  }
  assert.ok(isInside(before, after), `${before}\n=== lost characters in\n${after}`);
  const { value: now } = await parseDocument(after, { name: "after" });
  const { transports, routes } = old;
  const sections = {
    transports: { ...(isMapping(transports) ? transports : {}), ...added },
    routes: [...(Array.isArray(routes) ? routes : []), route],
  };
  assert.ok(sameSettings(plain(now), plain({ ...old, ...sections })), `${before}\n=== became\n${after}`);
  return true;
}

/** Whether a text still has all characters of another in their order, except blanks and an empty section. */
function isInside(before: string, after: string): boolean {
  const kept = before.replace(/((?:transports|routes):[ \t]*)(?:\{\s*\}|\[\s*\]|~)/g, "$1").replace(
    /\s/g,
    "",
  );
  let at = 0;
  for (const character of after) if (character === kept[at]) at++;
  return at === kept.length;
}

/** Settings as plain data in one order of the keys. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

const section = (name: string, forms: readonly string[]) =>
  fc.constantFrom("", ...forms.map((form) => `${name}:${form}\n`));
const ends = fc.constantFrom("", "\n", "# end", "# end\n", "\n\n  # end\n", "default: direct\n", "dns: {}\n");

const transports = section("transports", [
  "",
  " # none yet",
  " {}",
  " { }  # empty",
  " ~",
  " { a: { ssh: x } }",
  " { a: { ssh: x }, }   # one",
  " {\n  a: { ssh: x },\n  b: { ssh: y } }",
  "\n  a: { ssh: x }",
  "\n  a: { ssh: x } # why\n  # last\n",
  "\n    a:\n        ssh: x\n    b:\n        ssh: y   # why",
  '\n  "a b": { ssh: "x" }\n\n  # two\n  b:\n    ssh: >-\n      folded\n      text\n',
  "\n  a: &x { ssh: x }\n  b: *x",
  " &anchor\n  a: { ssh: x }",
  " !!map { a: { ssh: x } }",
]);
const routes = section("routes", [
  "",
  " []",
  " [ ] # none",
  " [{ to: any, via: a }]",
  " [ { to: any, via: a }, # why\n ]",
  "\n- to: any\n  via: a",
  "\n  - to: any\n    via: a\n  # last",
  "\n  -\n    to:\n      - .a.example # one\n      - .b.example\n    via: a\n",
  "\n  - { to: any, via: a }\n\n\n",
  "\n  - { to: [.a.example,\n      .b.example], via: a } # two",
]);

Deno.test("withProposal() keeps the values of any configuration in any style", async () => {
  let count = 0;
  const parts = fc.tuple(
    fc.constantFrom("", "# begin\n", "listen: { mixed: localhost:1 }\n", "---\n"),
    fc.shuffledSubarray([0, 1], { minLength: 2 }),
    transports,
    routes,
    ends,
    fc.boolean(),
  );
  await fc.assert(
    fc.asyncProperty(parts, async ([begin, order, one, two, end, isWindows]) => {
      const text = begin + order.map((at) => at === 0 ? one : two).join("") + end;
      if (await isAdded(isWindows ? text.replaceAll("\n", "\r\n") : text)) count++;
    }),
    { numRuns: fuzzRuns(400) },
  );
  assert.ok(count > 100, `only ${count} texts took the proposal`);
});

const tokens = [
  ..."-?:,[]{}#&*!|>'\"%@` \t\n~<a",
  "transports:",
  "routes:",
  "\n  ",
  "\n    - ",
  ": ",
  "- ",
  "{}",
  "[]",
  " # x\n",
  "a: { ssh: b }",
  "&a ",
  "*a",
  "|2-\n",
];

Deno.test("withProposal() keeps the values of any text", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...tokens), { maxLength: 40 }), async (words) => {
      await isAdded(words.join(""));
    }),
    { numRuns: fuzzRuns(800) },
  );
});

const words = fc.oneof(
  fc.constantFrom(
    ...[
      "gw",
      "bastion",
      "a.corp.example",
      "b.corp.example",
      "*",
      "*.corp.example",
      "10.1.*",
      "10.1.2.3",
      "!gw",
    ],
    ...[
      "me@gw:22",
      "gw,bastion",
      "none",
      "%h.x.example",
      "fd00::1",
      "[fd00::1]:22",
      "x_y.example",
      "münchen.example",
    ],
    ...[
      "-x",
      "a$b",
      "a:b",
      'a"b',
      "a#b",
      "a\u2028b",
      "1e3",
      "true",
      "42",
      "~",
      "a".repeat(300),
      "*.com",
      "any",
      "<local>",
    ],
  ),
  fc.string({ maxLength: 12 }),
);
const sshLine = fc.tuple(
  fc.constantFrom(
    "Host",
    "HostName",
    "ProxyJump",
    "Port",
    "User",
    "LocalForward 1",
    "DynamicForward",
    "Match host",
  ),
  fc.array(words, { minLength: 1, maxLength: 3 }),
).map(([keyword, values]) => `${keyword} ${values.map((word) => word.replace(/\s/g, "")).join(" ")}`);
const urls = fc.oneof(
  fc.constantFrom(
    "https://api.corp.example:6443",
    "http://127.0.0.1:8080/x",
    "https://[fd00::1]",
    "socks5h://p:1",
  ),
  words.map((word) => `https://${word}`),
  words,
);

Deno.test("propose() makes a valid configuration from anything that it finds", async () => {
  const anything = fc.record({
    ssh: fc.array(sshLine, { maxLength: 25 }),
    contexts: fc.array(fc.record({ name: words, url: urls }), { maxLength: 4 }),
    proxy: urls,
    noProxy: fc.array(words, { maxLength: 4 }),
    catalogues: fc.array(urls, { maxLength: 3 }),
  });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(anything, async ({ ssh, contexts, proxy, noProxy, catalogues }) => {
      const found = await proposed({
        ssh: ssh.join("\n"),
        contexts: contexts.filter(({ url }) => URL.canParse(url)),
        proxies: { http_proxy: proxy, no_proxy: noProxy.join(",") },
        catalogues: catalogues.filter((url) => URL.canParse(url)),
      });
      if (found.text === "") return;
      count++;
      const world = new MemoryWorld();
      const text = withProposal("", found.proposal);
      const { errors } = await readConfig(world, { text, withoutCatalogues: true });
      assert.deepEqual(errors, [], text);
    }),
    { numRuns: fuzzRuns(200) },
  );
  assert.ok(count > 20, `only ${count} proposals`);
});
