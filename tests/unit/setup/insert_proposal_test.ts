import assert from "node:assert/strict";
import { parseDocument } from "../../../src/config/mod.ts";
import { starterConfig } from "../../../src/plan/mod.ts";
import { withProposal } from "../../../src/setup/insert_proposal.ts";
import type { Proposal } from "../../../src/setup/proposal.ts";

const proposal: Proposal = {
  transports: [{ kind: "ssh", name: "gw", settings: "gw", reason: "why gw" }],
  routes: [
    { to: [".corp.example", "10.0.0.0/8"], via: "gw", reason: "why corp" },
    { to: [".guess.example"], via: "gw", reason: "a guess", isGuess: true },
  ],
  catalogues: [],
  secrets: [],
  notes: [],
};

const entries = { gw: { ssh: "gw" } };
const route = { to: [".corp.example", "10.0.0.0/8"], via: "gw" };

const cases: { readonly name: string; readonly before: string; readonly kept?: RegExp }[] = [
  { name: "an empty file", before: "" },
  { name: "a file without the sections", before: "listen: { mixed: localhost:1 }" },
  { name: "sections without a value", before: "transports:\nroutes: # none yet\ndefault: direct\n" },
  { name: "the configuration of config init", before: starterConfig, kept: /^# {3}blocked: \{ reject/m },
  {
    name: "block sections with comments, other indentation and no final line break",
    before:
      "transports:\n    a:\n      ssh: x # why\n    # tail\n\nroutes:\n- to: .a.example\n  via: a\n# end",
    kept: /ssh: x # why\n {4}# why gw\n {4}gw: .*\n {4}# tail\n/,
  },
  {
    name: "flow sections on one line",
    before: "transports: { a: { ssh: x } } # c\nroutes: [ { to: .a.example, via: a }, ]\n",
    kept: /^ {2}\} # c$/m,
  },
  {
    name: "flow sections on several lines",
    before: "transports: {\n  a: { ssh: x }\n}\nroutes: [\n  { to: .a.example, via: a }\n]\n",
  },
  {
    name: "a list with a multi-line text at its end",
    before: "routes:\n  - via: direct\n    to: >-\n      .a.example\n\ndefault: direct\n",
  },
  { name: "lines that end as on Windows", before: "transports:\r\n  a: { ssh: x }\r\n# end\r\n" },
];

for (const { name, before, kept } of cases) {
  Deno.test(`withProposal() adds to ${name}`, async () => {
    const after = withProposal(before, proposal);
    const [old, now] = [await valueOf(before), await valueOf(after)];
    const list = (value: unknown) => Array.isArray(value) ? value : [];
    const expected = {
      ...old,
      transports: { ...old["transports"] as object | null, ...entries },
      routes: [...list(old["routes"]), route],
    };
    assert.deepEqual(now, expected);
    assert.match(after, /# why gw\r?\n/);
    assert.match(after, /# +- \{ to: \.guess\.example, via: gw \}|^(?!.*guess)/m);
    if (kept) assert.match(after, kept);
    if (before.includes("\r\n")) assert.doesNotMatch(after, /[^\r]\n/);
    // Only an empty pair of brackets may go.
    const lines = new Set(after.split(/\r?\n/));
    const lost = before.split(/\r?\n/).filter((line) => line !== "" && !lines.has(line));
    for (const line of lost) {
      assert.match(line, /^(?:transports|routes): (?:\{\}|\[\]|\{ .*|\[ .*)|^ {2}[a{].*$/);
    }
  });
}

const refused = [
  { name: "an alias", before: "x: &a { b: { ssh: c } }\ntransports: *a\n" },
  { name: "another kind of value", before: "transports: 5\n" },
  { name: "a flow document", before: "{ a: 1 }\n" },
  { name: "brackets with a comment", before: "transports: { # none\n}\n" },
];
for (const { name, before } of refused) {
  Deno.test(`withProposal() refuses ${name}`, () => {
    assert.throws(
      () => withProposal(before, proposal),
      /^PosternError: Cannot add to the section "transports": /,
    );
  });
}

Deno.test("withProposal() writes a guess without a section as a comment", () => {
  const [, guess] = proposal.routes;
  const guessed = { ...proposal, transports: [], routes: guess ? [guess] : [] };
  assert.equal(
    withProposal("routes: []\n", guessed),
    "routes: []\n# a guess\n# - { to: .guess.example, via: gw }\n",
  );
  assert.match(withProposal("a: 1\n", guessed), /\n\n# routes:\n# a guess\n# {3}- \{ to: \.guess\.example/);
});

async function valueOf(text: string): Promise<Record<string, unknown>> {
  const { value, problems } = await parseDocument(text, { name: "test" });
  assert.deepEqual(problems, [], text);
  return value as Record<string, unknown>;
}
