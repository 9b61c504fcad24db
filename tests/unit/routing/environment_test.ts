import assert from "node:assert/strict";
import {
  type Client,
  environmentFor,
  type EnvironmentOptions,
  noProxyFor,
  type ProgramKind,
  Router,
  shellLines,
  undoEnvironment,
} from "../../../src/routing/mod.ts";
import type { EnvironmentChange } from "../../../src/routing/shell_lines.ts";
import type { EnvironmentPlan } from "../../../src/routing/environment.ts";
import { rulesOf } from "../../support/rules.ts";

const router = new Router({ rules: rulesOf(["routes: lab.test > lab", "direct: corp.test > direct"]) });
const listener = "127.0.0.1:12000";

type Asked = Omit<Partial<EnvironmentOptions>, "listener" | "noProxy" | "current">;

function plan(before: Record<string, string> = {}, more: Asked = {}): EnvironmentPlan {
  const { programs } = more;
  const isJava = programs === "java" || programs === "jdbc";
  const list = (client?: Client) => noProxyFor(["corp.test"], router, client).items;
  return environmentFor({
    listener,
    noProxy: list(isJava ? "java" : undefined),
    javaNoProxy: list("java"),
    current: (name) => before[name],
    ...more,
  });
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

const portable = {
  http_proxy: http,
  HTTP_PROXY: http,
  https_proxy: http,
  HTTPS_PROXY: http,
  all_proxy: http,
  ALL_PROXY: http,
  ws_proxy: http,
  wss_proxy: http,
  no_proxy: noProxy,
  NO_PROXY: noProxy,
  NODE_USE_ENV_PROXY: "1",
};

/** The variables without the marker, which names exactly them. */
function variables(more: Asked = {}): Record<string, string> {
  const { POSTERN_ENV, ...rest } = applied({}, plan({}, more).changes);
  assert.deepEqual(POSTERN_ENV?.split(",").sort(), Object.keys(rest).sort());
  return rest;
}

Deno.test("environmentFor() sets both cases of every variable to the HTTP proxy", () => {
  assert.deepEqual(variables(), portable);
});

Deno.test("environmentFor() names the SOCKS proxy only in ALL_PROXY, and only if asked", () => {
  const socks = "socks5h://127.0.0.1:12000";
  assert.deepEqual(variables({ socks: true }), { ...portable, all_proxy: socks, ALL_PROXY: socks });
});

const kinds: { programs: ProgramKind; names: string[] }[] = [
  { programs: "go", names: ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] },
  { programs: "curl", names: ["http_proxy", "https_proxy", "no_proxy", "all_proxy"] },
  { programs: "python", names: ["http_proxy", "https_proxy", "no_proxy", "ws_proxy", "wss_proxy"] },
  { programs: "node", names: ["http_proxy", "https_proxy", "no_proxy", "NODE_USE_ENV_PROXY"] },
  { programs: "java", names: ["JAVA_TOOL_OPTIONS"] },
  { programs: "jdbc", names: ["JAVA_TOOL_OPTIONS"] },
  { programs: "ssh", names: ["GIT_SSH_COMMAND", "RSYNC_RSH"] },
  { programs: "git", names: ["http_proxy", "https_proxy", "no_proxy", "GIT_SSH_COMMAND"] },
  {
    programs: "all",
    names: [...Object.keys(portable), "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "RSYNC_RSH"],
  },
];
for (const { programs, names } of kinds) {
  Deno.test(`environmentFor() sets the variables of ${programs}`, () => {
    assert.deepEqual(Object.keys(variables({ programs })).sort(), names.sort());
  });
}

const javaHttp = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=12000 -Dhttps.proxyHost=127.0.0.1 " +
  "-Dhttps.proxyPort=12000 -Dhttp.nonProxyHosts=localhost|127.*|[::1]|*.corp.test|corp.test";
const javaSocks = "-DsocksProxyHost=127.0.0.1 -DsocksProxyPort=12000 " +
  "-DsocksNonProxyHosts=localhost|127.*|[::1]|*.corp.test|corp.test";
const javas: { asked: Asked; options: string }[] = [
  { asked: { programs: "java" }, options: javaHttp },
  { asked: { programs: "java", socks: true }, options: javaSocks },
  { asked: { programs: "java", speaks: "socks" }, options: javaSocks },
  { asked: { programs: "jdbc" }, options: javaSocks },
  { asked: { programs: "all" }, options: `${javaHttp} ${javaSocks}` },
  { asked: { programs: "all", speaks: "http" }, options: javaHttp },
];
for (const { asked, options } of javas) {
  Deno.test(`environmentFor() sets the options of Java for ${JSON.stringify(asked)}`, () => {
    assert.equal(variables(asked)["JAVA_TOOL_OPTIONS"], options);
  });
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const commands: { asked: Asked; before?: string; command: string }[] = [
  { asked: {}, command: "ssh -o 'ProxyCommand=postern nc %h %p'" },
  { asked: {}, before: "ssh -i key", command: "ssh -i key -o 'ProxyCommand=postern nc %h %p'" },
  {
    asked: { id: "lab", config: "/etc/p.yaml" },
    command: "ssh -o 'ProxyCommand=postern nc --id lab %h %p'",
  },
  {
    asked: { config: "/etc/p.yaml" },
    command: "ssh -o 'ProxyCommand=postern nc --config /etc/p.yaml %h %p'",
  },
  {
    asked: { self: ["/opt/100% a/it's"] },
    command: `ssh -o ${quoted(`ProxyCommand=${quoted("/opt/100%% a/it's")} nc %h %p`)}`,
  },
];
for (const { asked, before, command } of commands) {
  Deno.test(`environmentFor() lets git run ${command}`, () => {
    const former = before === undefined ? {} : { GIT_SSH_COMMAND: before };
    const once = applied(former, plan(former, { programs: "git", ...asked }).changes);
    assert.equal(once["GIT_SSH_COMMAND"], command);
    assert.deepEqual(applied(once, plan(once, { programs: "git", ...asked }).changes), once);
    assert.deepEqual(applied(once, undoEnvironment((name) => once[name]).changes), former);
  });
}

Deno.test("environmentFor() quotes the command of rsync as rsync reads it", () => {
  const { RSYNC_RSH } = variables({ programs: "ssh", self: ["/opt/a b/postern"] });
  assert.equal(RSYNC_RSH, "ssh -o 'ProxyCommand=''/opt/a b/postern'' nc %h %p'");
});

const notes: { asked: Asked; says: RegExp }[] = [
  { asked: { speaks: "socks" }, says: /SOCKS only/ },
  { asked: { speaks: "http", socks: true }, says: /HTTP only/ },
  { asked: { speaks: "http", programs: "jdbc" }, says: /HTTP only/ },
  { asked: { programs: "node" }, says: /^Node\.js before 22\.21 and 24 ignores/ },
  { asked: { programs: "ssh" }, says: /^GIT_SSH_COMMAND overrides ProxyJump and ProxyCommand/ },
  { asked: { programs: "git" }, says: /^GIT_SSH_COMMAND overrides/ },
  { asked: { programs: "ssh" }, says: /^ssh and scp read no proxy variable: ssh -o ProxyCommand=/ },
  {
    asked: { programs: "all", credentials: { name: "me", password: "s3cret" } },
    says: /Java does not read a proxy password/,
  },
];
for (const { asked, says } of notes) {
  Deno.test(`environmentFor() notes for ${JSON.stringify(asked)}: ${says.source}`, () => {
    const { notes } = plan({}, asked);
    assert.match(notes.join("\n"), new RegExp(says, "m"));
    assert.doesNotMatch(notes.join("\n"), /s3cret/);
  });
}

Deno.test("environmentFor() keeps a password out of the options of Java, which a JVM prints", () => {
  const credentials = { name: "me", password: "s3cret" };
  assert.doesNotMatch(variables({ programs: "all", credentials })["JAVA_TOOL_OPTIONS"] ?? "", /s3cret/);
});

Deno.test("environmentFor() adds to the options of Java, once", () => {
  const before = { JAVA_TOOL_OPTIONS: "-Xmx1g" };
  const once = applied(before, plan(before, { programs: "java" }).changes);
  assert.equal(once["JAVA_TOOL_OPTIONS"], `-Xmx1g ${javaHttp}`);
  const twice = applied(once, plan(once, { programs: "java" }).changes);
  assert.deepEqual(twice, once);
  assert.deepEqual(applied(twice, undoEnvironment((name) => twice[name]).changes), before);
  const fresh = applied({}, plan({}, { programs: "java" }).changes);
  assert.deepEqual(applied(fresh, plan(fresh, { programs: "java" }).changes), fresh);
});

const only = [
  { speaks: "socks", url: "socks5h://127.0.0.1:12000" },
  { speaks: "http", url: "http://127.0.0.1:12000" },
] as const;
for (const { speaks, url } of only) {
  Deno.test(`environmentFor() sets only ${speaks} for a ${speaks} listener`, () => {
    const { changes } = plan({}, { speaks, socks: true });
    const { http_proxy, HTTPS_PROXY, all_proxy } = applied({}, changes);
    assert.deepEqual([http_proxy, HTTPS_PROXY, all_proxy], [url, url, url]);
  });
}

Deno.test("environmentFor() encodes credentials", () => {
  const after = applied({}, plan({}, { credentials: { name: "me@x", password: "p:/'\"" } }).changes);
  assert.equal(after["HTTP_PROXY"], "http://me%40x:p%3A%2F'%22@127.0.0.1:12000");
  assert.equal(after["all_proxy"], "http://me%40x:p%3A%2F'%22@127.0.0.1:12000");
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
  {
    name: "other variables",
    before: { HOME: "/home/me", JAVA_TOOL_OPTIONS: "-Xmx1g", NODE_USE_ENV_PROXY: "0", RSYNC_RSH: "ssh -4" },
  },
  { name: "a proxy of the company", before: { HTTPS_PROXY: "http://corp.example:3128", no_proxy: "a,b" } },
];
for (const { name, before } of environments) {
  Deno.test(`undoEnvironment() restores ${name}`, () => {
    let after = applied(before, plan(before).changes);
    for (const programs of [undefined, "go", "java", "all", "ssh", undefined] as const) {
      after = applied(after, plan(after, programs && { programs }).changes);
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
