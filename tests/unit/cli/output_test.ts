import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { chainsText } from "../../../src/cli/output/chains_text.ts";
import { explanationText } from "../../../src/cli/instance/explain.ts";
import { paintFor } from "../../../src/cli/output/paint.ts";
import { formatValue } from "../../../src/cli/output/print_value.ts";
import { reportError } from "../../../src/cli/output/report_error.ts";
import { statusText } from "../../../src/cli/instance/status_text.ts";
import { RecordingWorld } from "./recording_world.ts";

const plain = paintFor(new RecordingWorld(), "out");

const colors: readonly {
  name: string;
  isTerminal: boolean;
  env: Record<string, string>;
  isPainted: boolean;
}[] = [
  { name: "on a terminal", isTerminal: true, env: {}, isPainted: true },
  { name: "with an empty NO_COLOR", isTerminal: true, env: { NO_COLOR: "" }, isPainted: true },
  { name: "with NO_COLOR", isTerminal: true, env: { NO_COLOR: "1" }, isPainted: false },
  { name: "into a pipe", isTerminal: false, env: {}, isPainted: false },
];

for (const { name, isTerminal, env, isPainted } of colors) {
  Deno.test(`paintFor() ${isPainted ? "adds color" : "adds no color"} ${name}`, () => {
    const { red } = paintFor(new RecordingWorld({ isTerminal, env }), "out");
    assert.equal(red("x"), isPainted ? "\x1b[31mx\x1b[39m" : "x");
  });
}

const errors: readonly { error: unknown; code: number; err: string }[] = [
  {
    error: new PosternError("config", "Cannot use 2 things:\na.yaml:1:2: x\na.yaml:3:4: \x07y", {
      hint: "look",
    }),
    code: 4,
    err: "postern: error: Cannot use 2 things:\na.yaml:1:2: x\na.yaml:3:4: \\u{7}y\npostern: hint: look\n",
  },
  {
    error: new PosternError("refused", "Cannot ask", { exit: 3 }),
    code: 3,
    err: "postern: error: Cannot ask\n",
  },
  { error: new PosternError("cancelled", "Interrupted"), code: 130, err: "" },
  { error: new DOMException("gone", "AbortError"), code: 130, err: "" },
  {
    error: new TypeError("x is not a function"),
    code: 1,
    err: "postern: error: Unexpected failure: x is not a function\n" +
      "postern: hint: run the command again with --log-level debug and report its output\n",
  },
];

for (const { error, code, err } of errors) {
  Deno.test(`reportError() returns ${code} for "${String(error).split("\n")[0]}"`, async () => {
    const world = new RecordingWorld();
    assert.equal(await reportError(error, world, { showStack: false }), code);
    assert.deepEqual([world.err, world.out], [err, ""]);
  });
}

Deno.test("formatValue() writes the same value in both formats", async () => {
  const value = { a: [1, "two"], b: undefined, c: null, d: { e: "multi\nline" } };
  const { parse } = await import("yaml");
  assert.deepEqual(parse(await formatValue(value, "yaml")), JSON.parse(await formatValue(value, "json")));
  assert.equal(await formatValue([], "json"), "[]\n");
});

Deno.test("statusText() shows an instance", () => {
  const world = new RecordingWorld();
  const text = statusText({
    version: "1.2.3",
    id: "default",
    pid: 47,
    startedAt: "2025-12-31T22:57:00Z",
    state: "ready",
    listeners: [
      { kind: "mixed", address: "127.0.0.1:12000", auth: false },
      { kind: "socks", address: "[::1]:1080", auth: true },
    ],
    transports: [
      { name: "direct", type: "direct", state: "ready", dials: 12, failures: 0 },
      {
        name: "corp",
        type: "proxy",
        via: "direct",
        state: "failing",
        dials: 3,
        failures: 1,
        lastError: "Cannot \x07",
      },
    ],
    config: { path: "c.yaml", loadedAt: "2025-12-31T23:59:30Z", problem: "c.yaml:1:1: a\nc.yaml:2:2: b" },
    connections: { open: 1, total: 15, failed: 1 },
    bytes: { up: 1500, down: 2_000_000 },
    memory: { resident: 61_000_000 },
  }, world);
  assert.equal(
    text,
    `default  ready  pid 47, up 1h 3m, postern 1.2.3
  listens   127.0.0.1:12000 (mixed)
            [::1]:1080 (socks, with authentication)
  config    c.yaml, loaded 30s ago
  problem   c.yaml:1:1: a
            c.yaml:2:2: b
  traffic   1 connection open, 15 so far, 1 failed; 1.5 kB up, 2.0 MB down
  memory    61 MB

  TRANSPORT  TYPE    VIA     STATE    DIALS  FAILED  LAST ERROR
  direct     direct  -       ready       12       0
  corp       proxy   direct  failing      3       1  Cannot \\u{7}
`,
  );
});

Deno.test("statusText() names clusters without known networks, and why", () => {
  const world = new RecordingWorld();
  const lab = { type: "kubernetes", state: "idle", dials: 0, failures: 0 } as const;
  const text = statusText({
    version: "1.2.3",
    id: "default",
    pid: 47,
    startedAt: "2025-12-31T22:57:00Z",
    state: "ready",
    listeners: [],
    transports: [
      { ...lab, name: "lab", table: { state: "unknown", reason: "Cannot sign in", hint: "sign in" } },
      { ...lab, name: "slow", table: { state: "asking" } },
      { ...lab, name: "known", table: { state: "known" } },
      { ...lab, name: "unasked", table: { state: "unknown" } },
    ],
    config: { loadedAt: "2025-12-31T23:59:30Z" },
    connections: { open: 0, total: 0, failed: 0 },
    bytes: { up: 0, down: 0 },
    memory: { resident: 61_000_000 },
  }, world);
  assert.deepEqual(text.split("\n").slice(2, 4), [
    "  rejects   targets that may belong to the cluster of lab: Cannot sign in (sign in)",
    "            targets that may belong to the cluster of slow: the API server has not answered yet",
  ]);
  assert.doesNotMatch(text, /cluster of (known|unasked)/);
});

Deno.test("chainsText() shows every hop, and a hint for a failing transport", () => {
  const hop = { channels: 0, sessions: 0, reconnects: 0, since: "2025-12-31T23:57:00Z" };
  const text = chainsText([
    { name: "direct", type: "direct", state: "ready", dials: 1, failures: 0 },
    {
      name: "far",
      type: "ssh",
      state: "failing",
      dials: 3,
      failures: 1,
      hint: "add the key to the agent: ssh-add ~/.ssh/id",
      hops: [
        {
          ...hop,
          host: "near",
          address: "near.example:22",
          state: "ready",
          roundTripMs: 12.04,
          channels: 3,
          sessions: 1,
          reconnects: 2,
        },
        { ...hop, host: "far", address: "10.0.0.1:2222", state: "failing", lastError: "Cannot \x07" },
      ],
    },
    { name: "near", type: "ssh", state: "ready", hint: "none is needed", dials: 0, failures: 0, hops: [] },
  ], { paint: plain, now: Date.UTC(2026, 0, 1) });
  assert.equal(
    text,
    `
CHAIN  HOST  ADDRESS          STATE    SINCE  ROUND TRIP  CHANNELS  SESSIONS  RECONNECTS  LAST ERROR
far    near  near.example:22  ready       3m     12.0 ms         3         1           2
       far   10.0.0.1:2222    failing     3m           -         0         0           0  Cannot \\u{7}

far: add the key to the agent: ssh-add ~/.ssh/id
`,
  );
});

Deno.test("explanationText() shows the path, the rules that lost, and each step", () => {
  const text = explanationText({
    target: "db.example.net:5432",
    transport: "inner",
    because: 'rule "db.example.net" (c.yaml:3)',
    hops: [{ name: "inner", type: "proxy", detail: "http://10.0.0.1:3128" }, {
      name: "outer",
      type: "proxy",
    }],
    losers: [{ rule: ".example.net", source: "c.yaml:4", transport: "outer", why: "shorter suffix" }],
    dial: {
      ms: 12.34,
      steps: [{ step: "connected to 10.0.0.2:1080", ms: 3 }],
      error: { code: "refused", message: "Cannot reach it", hint: "start it" },
    },
  }, plain);
  assert.equal(
    text,
    `db.example.net:5432 goes to inner
  because  rule "db.example.net" (c.yaml:3)
  path     here > outer (proxy) > inner (proxy http://10.0.0.1:3128) > db.example.net:5432

LOST          TO     FROM      WHY
.example.net  outer  c.yaml:4  shorter suffix

       3.0 ms  connected to 10.0.0.2:1080
      12.3 ms  failed: Cannot reach it
               start it
`,
  );
});

Deno.test("explanationText() shows why a target is rejected that may belong to a cluster", () => {
  const text = explanationText({
    target: "web.shop:80",
    transport: "reject",
    because: "may belong to lab: postern does not know yet what that cluster owns",
    hops: [],
    losers: [{ rule: "any", source: "c.yaml:4", transport: "corp", why: "a cluster may own the target" }],
    held: {
      code: "auth",
      message: "Cannot reach web.shop:80: its API server returned 401",
      hint: 'direct: ["web.shop"]',
    },
  }, plain);
  assert.equal(
    text,
    `web.shop:80 is rejected
  because  may belong to lab: postern does not know yet what that cluster owns
  reason   Cannot reach web.shop:80: its API server returned 401
  hint     direct: ["web.shop"]

LOST  TO    FROM      WHY
any   corp  c.yaml:4  a cluster may own the target
`,
  );
});

for (const format of ["json", "yaml"] as const) {
  Deno.test(`formatValue() escapes control characters as ${format} and keeps the value`, async () => {
    const value = {
      "\u009bkey": "a\u009b31mb\u007f",
      plain: "a\\u009b",
      list: ["\u202egnp.exe", "\x1b]0;x\x07"],
    };
    const text = await formatValue(value, format);
    const unescaped = [...text].filter((char) => char !== "\n" && /[\p{Cc}\p{Bidi_Control}]/u.test(char));
    assert.deepEqual(unescaped, []);
    const { parse } = await import("yaml");
    assert.deepEqual(parse(text), value);
  });
}
