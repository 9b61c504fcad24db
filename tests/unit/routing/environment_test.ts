import assert from "node:assert/strict";
import {
  type Client,
  environmentFor,
  noProxyFor,
  Router,
  shellLines,
  undoEnvironment,
} from "../../../src/routing/mod.ts";
import type { EnvironmentChange } from "../../../src/routing/shell_lines.ts";
import type { EnvironmentPlan } from "../../../src/routing/environment.ts";
import { rulesOf } from "../../support/rules.ts";

const router = new Router({ rules: rulesOf(["routes: lab.test > lab", "direct: corp.test > direct"]) });
const listener = "127.0.0.1:12000";

interface Asked {
  readonly client?: Client;
  readonly speaks?: "socks" | "http";
  readonly credentials?: { readonly name: string; readonly password: string };
}

function plan(before: Record<string, string> = {}, more: Asked = {}): EnvironmentPlan {
  const { items } = noProxyFor(["corp.test"], router, more.client);
  return environmentFor({ listener, noProxy: items, current: (name) => before[name], ...more });
}

/** The environment after a shell applies the changes. */
function applied(
  before: Record<string, string>,
  changes: readonly EnvironmentChange[],
): Record<string, string> {
  const after = { ...before };
  for (const change of changes) {
    if ("set" in change) after[change.set] = change.value;
    else if ("copy" in change) after[change.to] = after[change.copy] ?? "";
    else delete after[change.unset];
  }
  return after;
}

const http = "http://127.0.0.1:12000";
const noProxy = "localhost,127.0.0.1,::1,corp.test";

Deno.test("environmentFor() sets both cases of every variable", () => {
  assert.deepEqual(applied({}, plan().changes), {
    http_proxy: http,
    HTTP_PROXY: http,
    https_proxy: http,
    HTTPS_PROXY: http,
    all_proxy: "socks5h://127.0.0.1:12000",
    ALL_PROXY: "socks5h://127.0.0.1:12000",
    no_proxy: noProxy,
    NO_PROXY: noProxy,
    POSTERN_ENV: "http_proxy,https_proxy,all_proxy,no_proxy,HTTP_PROXY,HTTPS_PROXY,ALL_PROXY,NO_PROXY",
  });
});

const clients: { client: Client; names: string[] }[] = [
  { client: "go", names: ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] },
  { client: "curl", names: ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] },
  { client: "python", names: ["http_proxy", "https_proxy", "no_proxy"] },
  { client: "java", names: ["JAVA_TOOL_OPTIONS"] },
];
for (const { client, names } of clients) {
  Deno.test(`environmentFor() sets the variables of ${client}`, () => {
    const after = applied({}, plan({}, { client }).changes);
    assert.deepEqual(Object.keys(after).sort(), [...names, "POSTERN_ENV"].sort());
    assert.equal(after["POSTERN_ENV"], names.join(","));
  });
}

Deno.test("environmentFor() adds to the options of Java, once", () => {
  const ours = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=12000 -Dhttps.proxyHost=127.0.0.1 " +
    "-Dhttps.proxyPort=12000 -Dhttp.nonProxyHosts=localhost|127.*|[::1]|*.corp.test|corp.test";
  const before = { JAVA_TOOL_OPTIONS: "-Xmx1g" };
  const once = applied(before, plan(before, { client: "java" }).changes);
  assert.equal(once["JAVA_TOOL_OPTIONS"], `-Xmx1g ${ours}`);
  const twice = applied(once, plan(once, { client: "java" }).changes);
  assert.deepEqual(twice, once);
  assert.deepEqual(applied(twice, undoEnvironment((name) => twice[name]).changes), before);
  const fresh = applied({}, plan({}, { client: "java" }).changes);
  assert.deepEqual(applied(fresh, plan(fresh, { client: "java" }).changes), fresh);
});

const only = [
  { speaks: "socks", http: "socks5h://127.0.0.1:12000", all: "socks5h://127.0.0.1:12000" },
  { speaks: "http", http: "http://127.0.0.1:12000", all: "http://127.0.0.1:12000" },
] as const;
for (const { speaks, http, all } of only) {
  Deno.test(`environmentFor() sets only ${speaks} for a ${speaks} listener`, () => {
    const { changes, notes } = plan({}, { speaks });
    const { http_proxy, HTTPS_PROXY, all_proxy } = applied({}, changes);
    assert.deepEqual([http_proxy, HTTPS_PROXY, all_proxy], [http, http, all]);
    assert.equal(notes.some((note) => note.includes("SOCKS only")), speaks === "socks");
  });
}

Deno.test("environmentFor() configures Java for a SOCKS listener", () => {
  const { JAVA_TOOL_OPTIONS } = applied({}, plan({}, { client: "java", speaks: "socks" }).changes);
  assert.match(
    JAVA_TOOL_OPTIONS ?? "",
    /^-DsocksProxyHost=127\.0\.0\.1 -DsocksProxyPort=12000 -DsocksNonProxyHosts=localhost\|/,
  );
});

Deno.test("environmentFor() encodes credentials", () => {
  const after = applied({}, plan({}, { credentials: { name: "me@x", password: "p:/'\"" } }).changes);
  assert.equal(after["HTTP_PROXY"], "http://me%40x:p%3A%2F'%22@127.0.0.1:12000");
  assert.equal(after["all_proxy"], "socks5h://me%40x:p%3A%2F'%22@127.0.0.1:12000");
});

Deno.test("environmentFor() saves former values without printing them, and shows how to configure them", () => {
  const before = {
    HTTPS_PROXY: "http://me:secret@corp.example:3128",
    http_proxy: "corp.example:3128",
    NO_PROXY: "old",
  };
  const { changes, notes } = plan(before);
  const text = shellLines(changes, "sh") + notes.join("\n");
  assert.doesNotMatch(text, /secret/);
  assert.match(text, /^export POSTERN_SAVED_HTTPS_PROXY="\$\{HTTPS_PROXY-\}"$/m);
  assert.equal(
    notes.at(-1),
    [
      "this shell used another proxy before; to use it through postern, configure",
      "transports:",
      '  corp: { proxy: { url: "http://corp.example:3128" } }',
      '  corp2: { proxy: { url: "http://corp.example:3128", user: "me", passwordFile: FILE } }',
    ].join("\n"),
  );
});

for (const own of [http, "http://localhost:12000/", "127.0.0.1:12000", "socks5h://[::1]:12000"]) {
  Deno.test(`environmentFor() does not save ${own}, its own listener`, () => {
    const before = { HTTP_PROXY: own };
    const { changes, notes } = plan(before);
    assert.match(notes.join("\n"), /HTTP_PROXY already points to this instance/);
    assert.doesNotMatch(notes.join("\n"), /transports:/);
    const after = applied(before, changes);
    assert.deepEqual(applied(after, undoEnvironment((name) => after[name]).changes), {});
  });
}

const environments: { name: string; before: Record<string, string> }[] = [
  { name: "an empty environment", before: {} },
  { name: "other variables", before: { HOME: "/home/me", JAVA_TOOL_OPTIONS: "-Xmx1g" } },
  { name: "a proxy of the company", before: { HTTPS_PROXY: "http://corp.example:3128", no_proxy: "a,b" } },
];
for (const { name, before } of environments) {
  Deno.test(`undoEnvironment() restores ${name}`, () => {
    let after = applied(before, plan(before).changes);
    for (const client of [undefined, "go", "java", undefined] as const) {
      after = applied(after, plan(after, client && { client }).changes);
    }
    const undo = undoEnvironment((variable) => after[variable]);
    assert.deepEqual(applied(after, undo.changes), before);
  });
}

Deno.test("undoEnvironment() restores variables when names ignore case", () => {
  const folded = (changes: readonly EnvironmentChange[]): EnvironmentChange[] =>
    changes.map((change) =>
      "set" in change
        ? { ...change, set: change.set.toUpperCase() }
        : "copy" in change
        ? { copy: change.copy.toUpperCase(), to: change.to.toUpperCase() }
        : { unset: change.unset.toUpperCase() }
    );
  const before: Record<string, string> = { HTTPS_PROXY: "http://corp.example:3128" };
  const read = (from: Record<string, string>) => (name: string) => from[name.toUpperCase()];
  const { changes } = environmentFor({ listener, noProxy: [], current: read(before) });
  const after = applied(before, folded(changes));
  assert.deepEqual(applied(after, folded(undoEnvironment(read(after)).changes)), before);
});

Deno.test("undoEnvironment() does nothing in a clean environment, and ignores an invalid marker", () => {
  assert.deepEqual(undoEnvironment(() => undefined).changes, []);
  const odd: Record<string, string> = { POSTERN_ENV: "PATH,http_proxy;id,$(id),HTTP_PROXY" };
  assert.deepEqual(undoEnvironment((name) => odd[name]).changes, [{ unset: "HTTP_PROXY" }, {
    unset: "POSTERN_ENV",
  }]);
});
